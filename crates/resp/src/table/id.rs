//! The id of each command, by family, for the dispatch of hosts. A host matches all ids of a family, so a forgotten
//! command does not compile.

/// Defines a family: commands that one function of a host executes, and (`END`) the number of ids up to its last one.
macro_rules! family {
    ($(#[$doc:meta])* $name:ident after $before:expr; $first:ident $(, $next:ident)* $(,)?) => {
        $(#[$doc])*
        #[expect(missing_docs, reason = "each is the entry of the table with its name")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $name {
            $first = $before,
            $($next),*
        }

        impl $name {
            const END: u8 = [$name::$first $(, $name::$next)*].len() as u8 + $before;
        }
    };
}

family! {
    /// Plain values, except [`HotId`].
    StringId after 0;
    SetNx, SetEx, PSetEx, GetSet, GetDel, GetEx, MGet, MSet, MSetNx, Incr, IncrBy, Decr, DecrBy,
    Append, StrLen, GetRange, SetRange, DelIfEq, IncrEx,
}
family! {
    /// Keys of any kind.
    KeyId after StringId::END;
    Del, Unlink, Exists, Touch, Type, Expire, PExpire, ExpireAt, PExpireAt, Ttl, PTtl, ExpireTime,
    PExpireTime, Persist, Scan, Keys, ObjectEncoding, ObjectFreq, ObjectIdleTime, ObjectRefCount,
    MemoryUsage,
}
family! {
    /// Entities.
    EntityId after KeyId::END;
    Put, Get, Del, Find,
}
family! {
    /// SCUR commands that read an account.
    ScurReadId after EntityId::END;
    Get, Session, Audit, Check, Holds, Transaction,
}
family! {
    /// SCUR commands that the ledger decides.
    ScurWriteId after ScurReadId::END;
    Create, Status, Delete, TopUp, Adjust, Bucket, Debit, Refund, Counter, Limit,
    Transfer, Reserve, Update, Terminate, Release,
}
family! {
    /// Commands on several accounts of which all commit or none.
    ScurChainId after ScurWriteId::END;
    Chain,
}
family! {
    /// Images of accounts, which move between stores.
    ImageId after ScurChainId::END;
    Dump, Load,
}
family! {
    /// The store as a whole.
    StoreId after ImageId::END;
    Totals, Watch, Statement, Snapshot, List, Find,
}
family! {
    /// Commands that delete everything, if there are no accounts.
    FlushId after StoreId::END;
    All, Db,
}
family! {
    /// Commands on the server as a whole, of which every core does its part.
    PartId after FlushId::END;
    DbSize, ConfigSet, ConfigResetStat, SlowlogLen, SlowlogReset, LatencyReset,
}
family! {
    /// ECHO and PING, which return the message.
    EchoId after PartId::END;
    Ping, Echo,
}
family! {
    /// Transactions.
    TransactionId after EchoId::END;
    Multi, Exec, Discard, Watch, Unwatch,
}
family! {
    /// Commands on the client's own connection.
    ConnectionId after TransactionId::END;
    Hello, Auth, Select, Quit, Reset, ReadOnly, ReadWrite, Asking, Monitor, ClientId,
    ClientGetName, ClientSetName, ClientSetInfo, ClientInfo, ClientList, ClientTracking, ClientTrackingInfo,
    ClientCaching, ClientGetRedir, ClientNoEvict, ClientNoTouch,
}
family! {
    /// Commands on the server, which the connection's core answers itself or by asking the other cores.
    ServerId after ConnectionId::END;
    Info, Role, Time, Wait, Shutdown, Command, CommandCount, CommandDocs, CommandGetKeys,
    CommandGetKeysAndFlags,
    CommandInfo, CommandList, ConfigGet, AclWhoAmI, AclUsers, ClusterInfo, ClusterKeySlot,
    ClusterMyId, ClusterNodes, ClusterShards, ClusterSlots, SlowlogGet, LatencyLatest,
    LatencyHistory, LatencyDoctor,
}
family! {
    /// Questions of clients to a sentinel, which monitors a primary and its replicas.
    SentinelId after ServerId::END;
    Address, CkQuorum, Master, Masters, MyId, Replicas, Sentinels, Slaves, Subscribe, Unsubscribe,
    PSubscribe, PUnsubscribe,
}
family! {
    /// The group that keeps the store on several machines.
    GroupId after SentinelId::END;
    Status, Transfer, Remove,
}
family! {
    /// The HELP of a container.
    HelpId after GroupId::END;
    Acl, Client, Cluster, Command, Config, Object, Memory, Slowlog, Latency, Sentinel, Replica,
}
family! {
    /// Containers. Without a subcommand they fail their arity check; these ids count such errors.
    ContainerId after HelpId::END;
    Acl, Client, Cluster, Config, Object, Memory, Slowlog, Latency, Sentinel, Replica,
}
family! {
    /// Commands of Valkey and Redis nodes to each other.
    NodeId after ContainerId::END;
    ScurApply, EntityApply,
}
family! {
    /// Commands on values that often arrive in pipelines: a host executes them without a call in between.
    HotId after NodeId::END;
    Get, Set,
}

/// Id of a command, one per entry of the table, subcommands included.
#[expect(missing_docs, reason = "each is the family with its name")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandId {
    Hot(HotId),
    String(StringId),
    Key(KeyId),
    Entity(EntityId),
    ScurRead(ScurReadId),
    ScurWrite(ScurWriteId),
    ScurChain(ScurChainId),
    Image(ImageId),
    Store(StoreId),
    Flush(FlushId),
    Part(PartId),
    Echo(EchoId),
    Transaction(TransactionId),
    Connection(ConnectionId),
    Server(ServerId),
    Sentinel(SentinelId),
    Group(GroupId),
    Help(HelpId),
    Container(ContainerId),
    Node(NodeId),
}

impl CommandId {
    /// Number of ids: each [`index`](CommandId::index) is below it.
    pub const COUNT: usize = HotId::END as usize;

    /// Returns the index for counters by command; no two ids have the same. It is the second byte of the id whatever
    /// the family, since each family continues the numbering of the one before it.
    #[inline]
    pub const fn index(self) -> usize {
        match self {
            CommandId::Hot(id) => id as usize,
            CommandId::String(id) => id as usize,
            CommandId::Key(id) => id as usize,
            CommandId::Entity(id) => id as usize,
            CommandId::ScurRead(id) => id as usize,
            CommandId::ScurWrite(id) => id as usize,
            CommandId::ScurChain(id) => id as usize,
            CommandId::Image(id) => id as usize,
            CommandId::Store(id) => id as usize,
            CommandId::Flush(id) => id as usize,
            CommandId::Part(id) => id as usize,
            CommandId::Echo(id) => id as usize,
            CommandId::Transaction(id) => id as usize,
            CommandId::Connection(id) => id as usize,
            CommandId::Server(id) => id as usize,
            CommandId::Sentinel(id) => id as usize,
            CommandId::Group(id) => id as usize,
            CommandId::Help(id) => id as usize,
            CommandId::Container(id) => id as usize,
            CommandId::Node(id) => id as usize,
        }
    }
}
