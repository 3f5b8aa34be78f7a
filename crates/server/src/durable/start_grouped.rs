//! Opens a directory as a node of a group: the node founds a group, joins one, or continues.

use super::divide::divide;
use super::start::{CoreStart, Meter, Opened, Plan, RecoveryReport, begin, open};
use crate::settings::{GroupSettings, StartError};
use scurry_codec::{GroupMember, GroupMembers, LogFormat};
use scurry_consensus::replica::{NodeId, Sequence, Term};
use scurry_consensus::shard::recover_to;
use scurry_disk::{GroupFile, Manifest, Store, StoreError, read_group};
use scurry_engine::{
    Config, Disk, HashKey, LogFollower, LogWriter, Progress, RecoveryEnd, SEGMENT_LEN_MAX, Shard,
    Version, recover, shown_by_snapshots, survey_group,
};
use scurry_group::peers::{
    self, Accepted, Identity, JoinRequest, PROTOCOL_HIGHEST, Sockets, ask_to_join,
    find_seeking_member,
};
use scurry_group::view::Addresses;
use scurry_group::{ShardFiles, Start};
use scurry_ledger::Time;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// How long a node that was told to found a group waits for the nodes of a group that look for it, ms; if they do, it
/// is a member whose directory was lost. Nodes dial a member that does not answer twice a second, and one that refuses
/// them nearly as often; one more second is for a busy machine.
const LOOK_MS: i64 = 2_000;

/// Settings and addresses of a node of a group at its start.
pub(crate) struct GroupPlan<'p> {
    pub(crate) settings: &'p GroupSettings,
    pub(crate) listener: TcpListener,
    pub(crate) addresses: Addresses,
    /// Sockets for connections to and from other nodes.
    pub(crate) sockets: Sockets,
}

/// Opens the store of a node, and recovers the part that is certainly committed. For a damaged directory, the error
/// tells how the node can join again.
pub(crate) fn open_grouped(
    plan: &Plan<'_>,
    group: GroupPlan<'_>,
    tell: &(dyn Fn(&super::RecoveryProgress) + Sync),
) -> Result<(Opened, Start), StartError> {
    open_node(plan, group, tell).map_err(|error| advise(error, plan.path))
}

/// Adds advice to the error of a node whose files are damaged, when other nodes have copies of them.
fn advise(error: StartError, directory: &Path) -> StartError {
    // The reason of a retired node mostly says what to do: it may be of a group that is lost.
    let says_it = matches!(&error, StartError::Store(StoreError::Retired { why, .. }) if why.contains("--join "));
    let is_to_advise = error.is_of_files() && !says_it;
    let file = read_group(directory).ok().flatten().filter(|_| is_to_advise);
    let Some(GroupFile { node, members, .. }) = file else { return error };
    let others = members.iter().filter(|member| member.id != node && member.votes);
    let join = others.map(|member| member.peer.to_string()).collect::<Vec<_>>().join(",");
    if join.is_empty() {
        return error;
    }
    StartError::Node { directory: directory.to_owned(), join, node, source: Box::new(error) }
}

fn open_node(
    plan: &Plan<'_>,
    group: GroupPlan<'_>,
    tell: &(dyn Fn(&super::RecoveryProgress) + Sync),
) -> Result<(Opened, Start), StartError> {
    let store = Store::open(plan.path)?;
    store.refuse_retired()?;
    let (store, manifest, file) = match (store.manifest()?, store.group()?) {
        (Some(manifest), Some(file)) => (Arc::new(store), manifest, file),
        (Some(manifest), None) if is_single(&store, &manifest)? => {
            convert(store, plan, &group, tell)?
        }
        // An empty directory, or a store that holds nothing: found a group or join one.
        _ => {
            let (manifest, file) = enter(&store, plan, &group)?;
            (Arc::new(store), manifest, file)
        }
    };
    // Also after an earlier start that ended before this point.
    store.end_begin()?;
    let votes = file.members.iter().any(|member| member.id == file.node && member.votes);
    if group.settings.observer && votes {
        return Err(StartError::Group(format!(
            "node {:016x} has a vote, and --observer is for one that never gets it: remove the node (SCUR.REPLICA \
             REMOVE), and start one with an empty directory, --join and --observer",
            file.node
        )));
    }
    if manifest.threads != plan.threads {
        return Err(StartError::GroupThreads { here: plan.threads, group: manifest.threads });
    }
    let required = store.required_protocol()?;
    if required > PROTOCOL_HIGHEST {
        return Err(StartError::Group(format!(
            "{} was written by a newer Scurry, in a group whose nodes speak version {required} of the protocol between \
             nodes; this one speaks up to {PROTOCOL_HIGHEST}: start the newer one",
            plan.path.display()
        )));
    }
    let least = store.least(&manifest)?;
    store.require_reach(&manifest)?;
    let hash_key = HashKey::of_group(manifest.log(0).id);
    let config = Config { hash_key, ..plan.config.clone() };
    let meter = Meter::default();
    let mut report = RecoveryReport { notes: store.mend_notes(&manifest)?, ..Default::default() };
    let (mut time, mut version_last) = (Time(0), 0);
    let (mut shards, mut cores, mut files) = (Vec::new(), Vec::new(), Vec::new());
    for (core, least) in (0..manifest.threads).zip(least) {
        let failed = |error| StartError::recovery(&manifest, core, error);
        let log = manifest.log(core);
        let mut directory = store.core(manifest.generation, core).map_err(StartError::store)?;
        let found = survey_group(&mut directory, log, least).map_err(failed)?;
        let ballot = store.ballot(&manifest, core)?;
        let logged = found.entries.last().map_or(Term(0), |entry| entry.term);
        store.check_vote(&manifest, ballot.newest(), logged)?;
        let writer = LogWriter::new(
            store.core(manifest.generation, core).map_err(StartError::store)?,
            log,
            SEGMENT_LEN_MAX,
        );
        let mut writer = writer.in_format(LogFormat::Replicated);
        if let Ok(Some(reach)) = store.reach(&manifest, core) {
            writer = writer.with_reach(reach);
        }
        let found = ShardFiles {
            log,
            found,
            ballot,
            writer,
            snapshots: shown_by_snapshots(&mut directory, log).map_err(StartError::store)?,
            reader: LogFollower::new(
                store.core(manifest.generation, core).map_err(StartError::store)?,
                log,
            ),
        };
        let mut shard = Shard::new(config.clone());
        let (mut before, mut logged_bytes) = (Progress::default(), 0);
        let until = RecoveryEnd::Committed(found.committed().sequence.get());
        // A shard whose log lacks a part after its snapshot is recovered later, when that part has arrived.
        if found.shows().is_none() {
            let recovered = recover(&mut directory, log, until, &mut shard, |progress| {
                meter.add(&mut before, progress);
                tell(&meter.read());
            });
            let recovered = recovered.map_err(failed)?;
            time = time.max(recovered.at);
            version_last = version_last.max(recovered.version_last);
            logged_bytes = recovered.read.log_bytes;
        }
        time = time.max(found.found.at);
        shards.push((shard, logged_bytes));
        files.push(found);
    }
    for (core, ((mut shard, logged_bytes), files)) in (0..).zip(shards.into_iter().zip(&files)) {
        shard.note_version(Version::new(version_last).unwrap_or(Version::LAST));
        let directory = || store.core(manifest.generation, core).map_err(StartError::store);
        let reach = || store.reach(&manifest, core).ok().flatten();
        cores.push(CoreStart {
            shard,
            log: manifest.log(core),
            next: files.committed().sequence.next().get(),
            logged_bytes,
            durability: plan.durability,
            store: manifest.store,
            generation: manifest.generation_of_events(),
            directories: [directory()?, directory()?, directory()?],
            reaches: [reach(), reach()],
            retention: plan.retention,
        });
    }
    report.read = meter.read();
    let node = node_id(file.node)?;
    let identity = Identity {
        node,
        // A different one for each generation: nodes of two generations do not understand each other.
        store: manifest.log(0).id,
        threads: manifest.threads,
        addresses: group.addresses,
        succeeds: group.settings.succeeds.clone(),
        required,
    };
    if identity.succeeds.as_ref().is_some_and(|lost| lost.store == identity.store) {
        return Err(StartError::Group(format!(
            "this node is of the group {:016x} itself, which --succeeds names as lost: leave the option away here. It is \
             for nodes of the group that has taken its place",
            identity.store
        )));
    }
    let path = store.clone();
    let rebuild = move |core: u16, sequence: Sequence| {
        let mut directory =
            path.core(manifest.generation, core).map_err(|error| error.to_string())?;
        let log = manifest.log(core);
        recover_to(&mut directory, log, config.clone(), sequence).map_err(|error| error.to_string())
    };
    let (writes, files_of, retires) = (store.clone(), store.clone(), store.clone());
    let (keeps, requires) = (store.clone(), store.clone());
    let (own, founder) = (file.node, file.founder);
    let write = move |members: &GroupMembers| {
        let members = members.members.clone();
        let file = GroupFile { node: own, founder, members };
        writes.write_group(&file).map_err(|error| error.to_string())
    };
    let start = Start {
        identity,
        listener: group.listener,
        sockets: group.sockets,
        founder: node_id(file.founder)?,
        manifest,
        members: GroupMembers { members: file.members },
        write: Box::new(write),
        require: Box::new(move |version| {
            requires.require_protocol(version).map_err(|error| error.to_string())
        }),
        retire: Box::new(move |why: &str| retires.retire(why).map_err(|error| error.to_string())),
        keep: Box::new(move |name: &str, text: &str| {
            keeps.keep_text(name, text).map_err(|error| error.to_string())
        }),
        observes: group.settings.observer,
        shards: files,
        rebuild: Arc::new(rebuild),
        files: Arc::new(move |core| files_of.core(manifest.generation, core)),
        retention: plan.retention.log,
        tick_ms: group.settings.tick_ms,
    };
    Ok((Opened { store, manifest, cores, time, report }, start))
}

fn node_id(number: u64) -> Result<NodeId, StartError> {
    NodeId::new(number).ok_or_else(|| StartError::Group("the file GROUP names node 0".to_owned()))
}

fn member_of(member: &peers::GroupMember) -> GroupMember {
    let Addresses { peer, ip, main, cores } = member.addresses.clone();
    GroupMember { id: member.id.get(), votes: member.votes, peer, ip, main, cores }
}

/// Reports whether this is a store on one machine that holds data. The note beside the logs may not show it yet, so the
/// files are checked too.
fn is_single(store: &Store, manifest: &Manifest) -> Result<bool, StartError> {
    for (core, least) in (0..).zip(store.least(manifest)?) {
        let files = store.core(manifest.generation, core).and_then(|mut files| files.list());
        let files = files.map_err(StartError::store)?;
        let holds = |name: &String| !name.starts_with("spare-");
        if least.sequence > 0 || least.snapshot || files.iter().any(holds) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Founds a group with a store on one machine. Until the manifest names the new generation, the store is unchanged.
/// From then until the group's file exists, it is still a store on one machine, and the conversion starts again.
fn convert(
    single: Store,
    plan: &Plan<'_>,
    group: &GroupPlan<'_>,
    tell: &(dyn Fn(&super::RecoveryProgress) + Sync),
) -> Result<(Arc<Store>, Manifest, GroupFile), StartError> {
    if !single.is_to_begin()? {
        return Err(StartError::NotToldWithStore { directory: plan.path.to_owned() });
    }
    may_begin(plan, group)?;
    drop(single);
    let Opened { store, manifest, cores, time, .. } = open(plan, tell)?;
    let mut shards: Vec<Shard> = cores.into_iter().map(|core| core.shard).collect();
    let own = draw(group, true)?;
    let manifest = divide(&store, &manifest, &mut shards, time, Some(own.id))?;
    store.write_ballots(&manifest)?;
    let file = GroupFile { node: own.id, founder: own.id, members: vec![own] };
    store.write_group(&file)?;
    tracing::info!("the store begins a group: nodes that join get all of it");
    Ok((store, manifest, file))
}

/// Refuses to found a group when an existing group looks for a node at this address, or when a lost node is to be
/// replaced.
fn may_begin(plan: &Plan<'_>, group: &GroupPlan<'_>) -> Result<(), StartError> {
    let told = plan.path.display();
    if group.settings.replaces.is_some() {
        return Err(StartError::Group(format!(
            "{told} was told to begin a group (scurry replica init), and --replaces would have it take the place of a \
             node of one: remove the file BEGIN there to join, or leave --replaces away to begin"
        )));
    }
    let now_ms = || group.sockets.clock().read().uptime_ms;
    let until_ms = now_ms() + LOOK_MS;
    let looked_for = find_seeking_member(
        &group.listener,
        &group.sockets,
        group.settings.succeeds.as_ref(),
        None,
        &|| now_ms() < until_ms,
    );
    match looked_for.map_err(StartError::system("the port for nodes"))? {
        None => Ok(()),
        Some(why) => Err(StartError::Group(format!("{told} was told to begin a group, and {why}"))),
    }
}

/// Creates the entry of this node, with a random id.
fn draw(group: &GroupPlan<'_>, votes: bool) -> Result<GroupMember, StartError> {
    let random = getrandom::u64().map_err(std::io::Error::other);
    let id = (random.map_err(StartError::system("a random number"))? >> 2).max(1);
    let Addresses { peer, ip, main, cores } = group.addresses.clone();
    Ok(GroupMember { id, votes, peer, ip, main, cores })
}

/// Founds a group with this node if the operator said so, or joins one.
fn enter(
    store: &Store,
    plan: &Plan<'_>,
    group: &GroupPlan<'_>,
) -> Result<(Manifest, GroupFile), StartError> {
    let joined = if store.is_to_begin()? { None } else { join(store, plan, group)? };
    let (manifest, file) = match joined {
        Some(joined) => joined,
        None => {
            may_begin(plan, group)?;
            let own = draw(group, true)?;
            tracing::info!("this node begins a group: others join it");
            let file = GroupFile { node: own.id, founder: own.id, members: vec![own] };
            (begin(store, plan.threads)?, file)
        }
    };
    store.write_ballots(&manifest)?;
    store.write_group(&file)?;
    Ok((manifest, file))
}

/// Joins a group. None when the operator tells the node to found one meanwhile.
fn join(
    store: &Store,
    plan: &Plan<'_>,
    group: &GroupPlan<'_>,
) -> Result<Option<(Manifest, GroupFile)>, StartError> {
    if group.settings.join.is_empty() {
        return Err(StartError::NotTold { directory: plan.path.to_owned() });
    }
    let own = draw(group, false)?;
    let request = JoinRequest {
        node: node_id(own.id)?,
        replaces: group.settings.replaces,
        addresses: group.addresses.clone(),
        observes: group.settings.observer,
    };
    tracing::info!(
        "the directory is empty: if there is no group yet, begin one here, once, with `scurry replica init --dir {}`",
        plan.path.display()
    );
    let Some(accepted) = ask_meanwhile_answering(store, &request, group)? else { return Ok(None) };
    if accepted.threads != plan.threads {
        let (here, group) = (plan.threads, accepted.threads);
        return Err(StartError::GroupThreads { here, group });
    }
    let manifest = Manifest {
        generation: accepted.generation,
        restored: accepted.restored,
        ..Manifest::new(accepted.store, accepted.threads)
    };
    store.write_reach(&manifest, &vec![0; usize::from(plan.threads)])?;
    store.write_manifest(&manifest)?;
    // For a later generation, missing directories would be an error, so create them now.
    for core in 0..manifest.threads {
        store.core(manifest.generation, core).map_err(StartError::store)?;
    }
    let mut members: Vec<GroupMember> = accepted.members.iter().map(member_of).collect();
    let node = own.id;
    if members.iter().all(|member| member.id != node) {
        members.push(own);
    }
    Ok(Some((manifest, GroupFile { node, founder: accepted.founder.get(), members })))
}

/// Asks to be admitted. Meanwhile it answers nodes that ask this one, which may be waiting too.
fn ask_meanwhile_answering(
    store: &Store,
    request: &JoinRequest,
    group: &GroupPlan<'_>,
) -> Result<Option<Accepted>, StartError> {
    let GroupPlan { settings, listener, sockets, .. } = group;
    let is_over = AtomicBool::new(false);
    let goes_on = || !is_over.load(Ordering::Relaxed);
    // If the directory cannot be read, founding the group will report the error.
    let is_to_begin = || store.is_to_begin().unwrap_or(true);
    let outcome = thread::scope(|scope| {
        scope.spawn(|| {
            // A node that looks for another node here belongs to the group that is being asked, whose answer will show
            // it.
            while goes_on() {
                let joins = Some(request.node);
                if let Err(error) = find_seeking_member(listener, sockets, None, joins, &goes_on) {
                    tracing::debug!("the port for nodes: {error}");
                    return;
                }
            }
        });
        let outcome = ask_to_join(&settings.join, request, &is_to_begin, sockets);
        is_over.store(true, Ordering::Relaxed);
        outcome
    });
    outcome.map_err(StartError::Group)
}
