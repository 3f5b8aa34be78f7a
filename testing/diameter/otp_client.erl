%% A client of the Diameter application of Erlang/OTP. It charges sessions and events, and prints one line per answer:
%% the name of the request, Result-Code, and what each service got; and one for each request of the server. OTP's stack checks CEA, DWA, DPA and every answer
%% against its dictionary before this program sees it.
%%
%% usage: erl -noshell -pa DIRECTORY -run otp_client run PORT STORE_PORT

-module(otp_client).
-export([run/1]).
-export([peer_up/3, peer_down/3, pick_peer/4, prepare_request/3, prepare_retransmit/3, handle_answer/4,
         handle_error/4, handle_request/3]).

-define(SERVICE, otp_client).
-define(IMSI, [[{'Subscription-Id-Type', 1}, {'Subscription-Id-Data', "001010000000001"}]]).

run([Port, StorePort]) ->
    register(?MODULE, self()),
    ok = diameter:start(),
    ok = diameter:start_service(?SERVICE, [
        {'Origin-Host', "otp.example"},
        {'Origin-Realm', "example"},
        {'Vendor-Id', 0},
        {'Product-Name', "otp"},
        {'Auth-Application-Id', [4]},
        {decode_format, map},
        {string_decode, true},
        {application, [{alias, cc}, {dictionary, otp_charging}, {module, ?MODULE},
                       {answer_errors, callback}]}]),
    true = diameter:subscribe(?SERVICE),
    {ok, _} = diameter:add_transport(?SERVICE, {connect, [
        {transport_module, diameter_tcp},
        {transport_config, [{raddr, {127,0,0,1}}, {rport, list_to_integer(Port)}, {reuseaddr, true}]},
        {watchdog_timer, 6000}]}),
    receive
        {diameter_event, ?SERVICE, Up} when element(1, Up) =:= up -> io:format("up~n")
    after 120000 -> io:format("not up~n"), halt(1)
    end,
    session(),
    events(),
    requests_of_the_server(list_to_integer(StorePort)),
    %% OTP sends DPR, and waits for our DPA.
    ok = diameter:stop_service(?SERVICE),
    ok = diameter:stop(),
    io:format("down~n"),
    halt(0).

session() ->
    Id = diameter:session_id("otp.example"),
    ask("CCR-I", session_request(Id, 1, 0, [service(100, [{asked, 400}]), service(200, [{asked, 100}])])),
    Update = session_request(Id, 2, 1, [service(100, [{used, 300}, {asked, 500}])]),
    ask("CCR-U", Update),
    ask("CCR-U again", Update),
    ask("CCR-U all", session_request(Id, 2, 2, [service(100, [{used, 500}, {asked, 5000}])])),
    ask("CCR-U none", session_request(Id, 2, 3, [service(100, [{used, 100}, {asked, 1}])])),
    ask("CCR-T", session_request(Id, 3, 3, [service(200, [{used, 60}])])).

events() ->
    Id = diameter:session_id("otp.example"),
    Debit = event(Id, 0, 0, [service(1, [{asked, 30}])]),
    ask("debit", Debit),
    ask("debit again", Debit),
    ask("check 10", event(Id, 1, 2, [service(1, [{asked, 10}])])),
    ask("check 11", event(Id, 2, 2, [service(1, [{asked, 11}])])),
    ask("price", event(Id, 3, 3, [])).

%% A top-up leads to RAR, a suspension to ASR.
requests_of_the_server(StorePort) ->
    Id = diameter:session_id("otp.example"),
    ask("CCR-I", session_request(Id, 1, 0, [service(100, [{asked, 500}])])),
    ok = execute(StorePort, "SCUR.TOPUP imsi-001010000000001 otp-1 main 1000\r\n"),
    asked_by_the_server(),
    ask("CCR-U", session_request(Id, 2, 1, [service(100, [{used, 10}, {asked, 500}])])),
    ok = execute(StorePort, "SCUR.STATUS imsi-001010000000001 suspended\r\n"),
    asked_by_the_server(),
    ask("CCR-T", session_request(Id, 3, 2, [service(100, [{used, 100}])])).

execute(Port, Command) ->
    {ok, Socket} = gen_tcp:connect({127,0,0,1}, Port, [binary, {active, false}]),
    ok = gen_tcp:send(Socket, Command),
    {ok, <<"*", _/binary>>} = gen_tcp:recv(Socket, 0, 120000),
    gen_tcp:close(Socket).

asked_by_the_server() ->
    receive
        {asked, Name, Groups} -> io:format("~s~s~n", [Name, [io_lib:format(" [~w]", [G]) || G <- Groups]])
    after 120000 -> io:format("not asked~n"), halt(1)
    end.

session_request(Id, Type, Number, Services) ->
    (request(Id, Type, Number))#{'Multiple-Services-Credit-Control' => Services}.

event(Id, Number, Action, Services) ->
    (session_request(Id, 4, Number, Services))#{'Requested-Action' => [Action]}.

request(Id, Type, Number) ->
    #{'Session-Id' => Id,
      'Destination-Realm' => "localdomain",
      'Auth-Application-Id' => 4,
      'Service-Context-Id' => "charging@otp.example",
      'CC-Request-Type' => Type,
      'CC-Request-Number' => Number,
      'Subscription-Id' => ?IMSI}.

service(Group, Units) ->
    Asked = [#{'CC-Total-Octets' => [N]} || {asked, N} <- Units],
    Used = [#{'CC-Total-Octets' => [N]} || {used, N} <- Units],
    #{'Rating-Group' => [Group], 'Requested-Service-Unit' => Asked, 'Used-Service-Unit' => Used}.

ask(Name, Request) ->
    case diameter:call(?SERVICE, cc, ['CCR' | Request], []) of
        ['CCA' | #{'Result-Code' := Result} = Answer] ->
            Services = maps:get('Multiple-Services-Credit-Control', Answer, []),
            Check = maps:get('Check-Balance-Result', Answer, []),
            io:format("~s: ~w~s~s~n", [Name, Result, [told(S) || S <- Services], [io_lib:format(" check ~w", [C]) || C <- Check]]);
        ['answer-message' | #{'Result-Code' := Result}] ->
            io:format("~s: error ~w~n", [Name, Result]);
        Other ->
            io:format("~s: ~p~n", [Name, Other])
    end.

told(Service) ->
    [Group] = maps:get('Rating-Group', Service),
    [Result] = maps:get('Result-Code', Service),
    Granted = [N || Unit <- maps:get('Granted-Service-Unit', Service, []), N <- maps:get('CC-Total-Octets', Unit, [])],
    Final = [A || #{'Final-Unit-Action' := A} <- maps:get('Final-Unit-Indication', Service, [])],
    io_lib:format(" [~w ~w~s~s]", [Group, Result, [io_lib:format(" ~w octets", [N]) || N <- Granted],
                                   [io_lib:format(" final ~w", [A]) || A <- Final]]).

peer_up(_Service, _Peer, State) -> State.
peer_down(_Service, _Peer, State) -> State.
pick_peer([Peer | _], _, _Service, _State) -> {ok, Peer};
pick_peer([], _, _Service, _State) -> false.

%% A packet is {diameter_packet, Header, Avps, Message, Bytes, Errors, Transport}.
prepare_request({diameter_packet, _, _, ['CCR' | Request], _, _, _} = Packet, _Service, {_, Caps}) ->
    {Host, _} = element(2, Caps),
    {Realm, _} = element(3, Caps),
    {send, setelement(4, Packet, ['CCR' | Request#{'Origin-Host' => Host, 'Origin-Realm' => Realm}])}.

prepare_retransmit(Packet, Service, Peer) -> prepare_request(Packet, Service, Peer).

%% Errors are what OTP finds wrong in an answer.
handle_answer(Packet, _Request, _Service, _Peer) ->
    case element(6, Packet) of
        [] -> element(4, Packet);
        Errors -> {wrong_answer, Errors, element(4, Packet)}
    end.

handle_error(Reason, _Request, _Service, _Peer) -> {no_answer, Reason}.

handle_request(Packet, _Service, {_, Caps}) ->
    {Host, _} = element(2, Caps),
    {Realm, _} = element(3, Caps),
    [Name | #{'Session-Id' := Id} = Request] = element(4, Packet),
    [] = element(6, Packet),
    ?MODULE ! {asked, Name, maps:get('Rating-Group', Request, [])},
    Answer = #{'Session-Id' => Id, 'Result-Code' => 2001, 'Origin-Host' => Host, 'Origin-Realm' => Realm},
    case Name of
        'RAR' -> {reply, ['RAA' | Answer]};
        'ASR' -> {reply, ['ASA' | Answer]}
    end.
