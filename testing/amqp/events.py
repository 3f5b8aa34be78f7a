"""A client of RabbitMQ that others wrote (pika), for the tests of `scurry ship amqp`.

events.py PORT ready QUEUE       fails unless the broker serves, with this queue if it has it
events.py PORT bind NAME QUEUE [KEY]  declares a durable queue and binds it to an exchange, for all events or those of a key
events.py PORT count QUEUE       prints how many messages a queue has
events.py PORT read QUEUE        takes all messages of a queue: for each a line of message id, key, account and payload
events.py PORT put QUEUE TEXT    puts a message into a queue
events.py PORT delete QUEUE      deletes a queue
"""

import sys

import pika

port, command, name, *rest = sys.argv[1:]
connection = pika.BlockingConnection(pika.ConnectionParameters("127.0.0.1", int(port)))
channel = connection.channel()


def count() -> int:
    return channel.queue_declare(name, passive=True).method.message_count


match command:
    case "ready":
        try:
            count()
        except pika.exceptions.ChannelClosedByBroker as error:
            if "no queue" not in error.reply_text:
                raise
    case "bind":
        channel.exchange_declare(name, "topic", durable=True)
        channel.queue_declare(rest[0], durable=True)
        channel.queue_bind(rest[0], name, rest[1] if len(rest) > 1 else "#")
    case "count":
        print(count())
    case "read":
        left = count()
        if left:
            for _, properties, payload in channel.consume(name, auto_ack=True):
                key, account = properties.type, properties.headers["account"]
                print(properties.message_id, key, account, payload.decode(), sep="\t")
                left -= 1
                if not left:
                    break
    case "put":
        channel.confirm_delivery()
        channel.basic_publish("", name, rest[0], pika.BasicProperties(delivery_mode=2))
    case "delete":
        channel.queue_delete(name)
connection.close()
