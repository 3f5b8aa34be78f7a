//! Mail between cores: requests to execute here and their replies, questions that every core answers, connections to
//! serve.

use super::Core;
use crate::connection::Connection;
use crate::mail::bundle::Bundle;
use crate::mail::message::Message;
use crate::mail::report::{Answer, Question};
use crate::net::port::PortKind;
use crate::net::socket::Socket;
use crate::ticket::{Sender, Ticket};

/// Packets of mail read in one turn.
const MAIL_PACKETS_MAX: usize = 256;

impl Core {
    /// Executes the bundles that were postponed while the log was congested, then reads new messages of other cores.
    pub(super) fn mail(&mut self) {
        while !self.node.is_congested()
            && let Some((sender, bundle)) = self.postponed.pop_front()
        {
            self.work(sender, bundle);
        }
        // Reads about as much as had arrived when the turn began, so that clients get their turns too.
        for _ in 0..MAIL_PACKETS_MAX {
            let Some(mut packet) = self.node.mesh.receive() else { return };
            for message in packet.drain(..) {
                self.read(message);
            }
            self.node.mesh.recycle(packet);
        }
    }

    /// Carries out what doors in this process ask.
    pub(super) fn calls(&mut self) {
        let intake = self.node.mesh.intake();
        if intake.is_waiting() {
            intake.take_calls(&mut self.node.calls);
        }
        if !self.node.calls.is_empty() {
            self.node.carry_out_calls();
        }
    }

    /// Gives a message to a core, which may be this one.
    pub(super) fn deliver(&mut self, core: u16, message: Message) {
        if core == self.node.core {
            self.read(message);
        } else {
            self.node.send_released(core, message);
        }
    }

    fn read(&mut self, message: Message) {
        match message {
            Message::Welcome { stream, peer, port } => self.welcome(stream, peer, &port),
            Message::WelcomeRequest(request) => self.welcome_request(*request),
            Message::Work(sender, bundle) if self.node.is_congested() => {
                self.postponed.push_back((sender, bundle));
            }
            Message::Work(sender, bundle) => self.work(sender, bundle),
            Message::Done(sender, bundle) => {
                if let Some(connection) = self.addressee(sender) {
                    connection.returned(sender.core, bundle);
                    self.enqueue(sender.connection);
                }
            }
            Message::Question(sender, question) => {
                let answer = self.answer(question);
                self.node.send_when_durable(sender.core, Message::Answer(sender, answer));
            }
            Message::Answer(sender, answer) => {
                if let Some(connection) = self.addressee(sender)
                    && connection.on_answer(answer)
                {
                    self.enqueue(sender.connection);
                }
            }
            Message::Lost(sender) => {
                if self.addressee(sender).is_some() {
                    self.close(sender.connection);
                }
            }
            Message::TransferStep(mail) => {
                self.node.note_transfer_mail(&mail);
                self.node.transfer_steps.push_back(mail);
            }
            Message::TransferResult(mail, result) => {
                self.node.note_transfer_mail(&mail);
                self.node.transfer_results.push_back((mail, result));
            }
            Message::Monitor(lines) => self.show(&lines),
            Message::Invalidate(news) => self.invalidate(&news),
            // Another core may know later that this node leads no more.
            Message::Follow(ask) if !self.node.durable.executes() => {
                self.node.mesh.send(ask.sender.core, Message::Lost(ask.sender));
            }
            Message::Follow(ask) => self.node.durable.follow(ask, self.node.now.uptime_ms),
            Message::Followed(sender, reply) => self.hand_over(sender, &reply),
            Message::Unfollow(sender) => self.node.durable.unfollow(sender),
            // The asker may be gone, so a failed send is ignored.
            Message::Measure(asker) => {
                drop(asker.send(self.node.core_report(self.adapter_report())))
            }
            Message::UsersReplaced => self.end_connections_of_former_users(),
            Message::Drain => self.drain(),
        }
    }

    /// Executes requests of another core's connection.
    fn work(&mut self, sender: Sender, mut bundle: Box<Bundle>) {
        bundle.execute(&mut self.node);
        let done = Sender { core: self.node.core, ..sender };
        self.node.send_when_durable(sender.core, Message::Done(done, bundle));
    }

    /// Asks every core that the connection's port stands for. Returns true when all have answered.
    pub(super) fn ask(&mut self, key: usize, question: Question) -> bool {
        let own = self.answer(question);
        let Some(connection) = self.connections.get_mut(key) else { return false };
        let sender = connection.sender(self.node.core);
        let others: Vec<u16> = match connection.client.port {
            PortKind::Main => self.node.mesh.others().collect(),
            PortKind::Core => Vec::new(),
        };
        connection.asks(others.len() + 1);
        for core in others {
            self.node.mesh.send(core, Message::Question(sender, question));
        }
        connection.on_answer(own)
    }

    fn answer(&self, question: Question) -> Answer {
        match question {
            Question::Report => Answer::Report(Box::new(self.node.report(self.adapter_report()))),
            Question::Slowlog => Answer::Slowlog(self.node.slow_commands()),
            Question::Latency => Answer::Latency(Box::new(self.node.slowness.latency.clone())),
            Question::Clients => {
                let mut text = String::new();
                for (_, connection) in &self.connections {
                    connection.client.describe(self.node.now, &mut text);
                    text.push('\n');
                }
                Answer::Clients(text)
            }
        }
    }

    /// Returns the connection that a message is for, if it still exists.
    fn addressee(&mut self, sender: Sender) -> Option<&mut Connection<Socket>> {
        self.connection(Ticket { key: sender.connection, client: sender.client })
    }
}
