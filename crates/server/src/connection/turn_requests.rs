//! Requests that have arrived together: which are executed here, and which go to other cores.

mod transaction;

use crate::connection::gather::{GatheredRequests, RequestDistributor};
use crate::connection::memory::Spare;
use crate::execute::client::Client;
use crate::execute::dispatch::{self, Route};
use crate::execute::effect::Effect;
use crate::execute::node::Node;
use crate::mail::report::Question;
use scurry_resp::Args;
use scurry_resp::table::{Spec, Spread};

/// Requests of one turn.
pub(crate) struct TurnRequests<'t> {
    pub(crate) core: u16,
    pub(crate) out: &'t mut Vec<u8>,
    pub(crate) out_len_max: usize,
    /// The first request for another core, and all requests after it.
    pub(crate) gather: GatheredRequests,
    /// Number of keys of the first request that earlier turns have requested; above 0 for a long request.
    pub(crate) begun: usize,
    pub(crate) spare: &'t mut Spare,
}

/// The next step after a request.
pub(crate) enum Next {
    /// The next request.
    Go,
    /// The same request again, after the turns of other connections.
    Yield,
    /// The same request again, once the gathered ones are executed.
    AfterGathered,
    /// The same request again, when every core has answered this question.
    AskCores(Question),
    /// The rest of this request, once the gathered part is executed.
    RestAfterGathered,
    /// Nothing until the reply to this request arrives.
    Suspend,
    /// Nothing until the gathered requests are executed.
    Scatter,
    /// Nothing: the client has asked to close.
    Close,
}

impl Next {
    /// Reports whether the request was not executed, or not completely.
    fn after_refusal(effect: Effect) -> Next {
        match effect {
            Effect::Close => Next::Close,
            _ => Next::Go,
        }
    }

    fn comes_again(&self) -> bool {
        matches!(
            self,
            Next::Yield | Next::AfterGathered | Next::AskCores(_) | Next::RestAfterGathered
        )
    }
}

impl TurnRequests<'_> {
    /// Executes a request, or gathers it for another core. Monitoring clients see it.
    #[inline(always)]
    pub(crate) fn request(
        &mut self,
        node: &mut Node,
        client: &mut Client,
        spec: Option<&'static Spec>,
        args: Args<'_>,
    ) -> Next {
        if args.is_empty() {
            return Next::Go;
        }
        let next = self.execute(node, client, spec, args);
        if node.shared.is_monitored() && !next.comes_again() {
            node.monitor(client, spec, args);
        }
        next
    }

    #[inline]
    fn execute(
        &mut self,
        node: &mut Node,
        client: &mut Client,
        spec: Option<&'static Spec>,
        args: Args<'_>,
    ) -> Next {
        // The output is full or the log's frame is long: other connections have their turns first.
        if self.out.len() >= self.out_len_max || node.is_frame_long() {
            return Next::Yield;
        }
        if let Some(spec) = spec.filter(|_| self.begun > 0) {
            // The head of its reply is already sent, so an error reply is no longer possible.
            return self.spread(node, client, spec, args, Route::Keys);
        }
        let own = spec.is_some_and(|spec| spec.spread == Spread::Connection);
        if (own || client.transaction.is_some())
            && let Some(next) = self.in_transaction(node, client, spec, args)
        {
            if !next.comes_again() {
                client.command_done(spec);
            }
            return next;
        }
        let route = spec.map_or(Route::Alone, |spec| dispatch::route(node, client, spec, args));
        // Replies keep their order, so a request is executed here at once only if none is gathered before it.
        let here = match route {
            Route::Here => self.gather.is_empty(),
            Route::Alone if self.gather.is_empty() => true,
            Route::Alone => return Next::AfterGathered,
            Route::Core(_) | Route::Keys | Route::Every => false,
        };
        let mut route = route;
        if here {
            match dispatch::execute(node, client, spec, args, self.out) {
                Effect::None => return Next::Go,
                Effect::Close => return Next::Close,
                Effect::AskCores(question) => return Next::AskCores(question),
                Effect::Suspend => return Next::Suspend,
                Effect::EveryCore => route = Route::Every,
            }
        }
        let Some(spec) = spec else { return Next::Go };
        // A refusal can be written at once only if no gathered reply comes before it.
        if self.gather.is_empty() {
            if let Err(effect) = dispatch::check(node, client, spec, args, self.out) {
                client.command_done(Some(spec));
                return Next::after_refusal(effect);
            }
        } else if self.gather.is_full()
            || dispatch::is_refused(node, client, spec, args)
            // All gathered requests have the same tracking mode, so that their reads are tracked alike.
            || client.tracking.is_some() && !self.gather.is_of(client.tracker(self.core))
        {
            return Next::AfterGathered;
        }
        self.spread(node, client, spec, args, route)
    }

    fn spread(
        &mut self,
        node: &Node,
        client: &mut Client,
        spec: &'static Spec,
        args: Args<'_>,
        route: Route,
    ) -> Next {
        client.command = spec.name;
        let slots = node.shared.slots;
        let (caller, cores) = (client.caller(self.core), slots.cores());
        let mut spreader = RequestDistributor { spare: self.spare, caller, cores };
        match route {
            Route::Core(core) => spreader.one(&mut self.gather, core, spec, args),
            Route::Keys => {
                let (gather, args) = (&mut self.gather, (args, self.begun));
                let left = spreader.keys(gather, spec, args, |key| slots.owner_of(key));
                self.begun = left.unwrap_or(0);
                if left.is_some() {
                    return Next::RestAfterGathered;
                }
            }
            Route::Every => spreader.every(&mut self.gather, spec, args),
            Route::Here | Route::Alone => spreader.one(&mut self.gather, self.core, spec, args),
        }
        client.command_done(Some(spec));
        Next::Go
    }
}
