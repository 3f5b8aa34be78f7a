//! Requests of the server, and how their answers are read.

use crate::support::{IDS, avp, origin, text, with_avp};
use scurry_diameter::attribute::{EXPERIMENTAL_RESULT, RESULT_CODE, SESSION_ID};
use scurry_diameter::{Attribute, ClientAnswer, Message, ResultCode, ServerAction, ServerRequest};

fn written(action: ServerAction) -> String {
    let request = ServerRequest {
        session_id: "smf.example;1;2",
        destination_host: "smf.example",
        destination_realm: "example",
        action,
    };
    let mut out = Vec::new();
    assert_eq!(request.write(&mut out, IDS, &origin()), out.len());
    let header = Message::read(&out).expect("a message").header;
    assert_eq!((header.command, header.application), (request.command(), 4));
    assert_eq!((header.hop_by_hop, header.end_to_end), (IDS.hop_by_hop, IDS.end_to_end));
    text(&out)
}

const HEAD: &str = "Session-Id=smf.example;1;2 Origin-Host=ocs.example Origin-Realm=example \
     Origin-State-Id=5 Destination-Realm=example Destination-Host=smf.example Auth-Application-Id=4";

#[test]
fn requests_of_the_server_name_session_and_client() {
    let all = ServerAction::ReAuth { rating_group: None, identifier: None };
    assert_eq!(written(all), format!("258RP {HEAD} Re-Auth-Request-Type=0"));
    let one = ServerAction::ReAuth { rating_group: Some(9), identifier: Some(3) };
    let expected =
        format!("258RP {HEAD} Re-Auth-Request-Type=0 Service-Identifier=3 Rating-Group=9");
    assert_eq!(written(one), expected);
    assert_eq!(written(ServerAction::Abort), format!("274RP {HEAD}"));
}

#[test]
fn answers_have_a_result_or_an_experimental_one() {
    let head = [1, 0, 0, 20, 0x40, 0, 1, 2, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 2];
    let read = |bytes: &[u8]| -> Result<(Option<u32>, Option<String>), u32> {
        let message = Message::read(bytes).expect("a message");
        let answer = ClientAnswer::read(&message).map_err(|refusal| refusal.result.0)?;
        Ok((answer.result.map(|code| code.0), answer.session_id.map(str::to_owned)))
    };
    assert_eq!(read(&head), Ok((None, None)));
    let mut experimental = avp(Attribute::base(266), &10_415_u32.to_be_bytes());
    experimental.extend(avp(Attribute::base(298), &5_030_u32.to_be_bytes()));
    let bytes = with_avp(&head, &avp(EXPERIMENTAL_RESULT, &experimental));
    assert_eq!(read(&bytes), Ok((Some(5030), None)));
    let bytes = with_avp(&head, &avp(RESULT_CODE, &ResultCode::SUCCESS.0.to_be_bytes()));
    let bytes = with_avp(&bytes, &avp(SESSION_ID, b"smf;1"));
    assert_eq!(read(&bytes), Ok((Some(2001), Some("smf;1".to_owned()))));
    assert_eq!(read(&with_avp(&head, &avp(RESULT_CODE, &[0; 3]))), Err(5014));
    // An answer may have AVPs that are not known here.
    let unknown = Attribute { code: 7, vendor: 9, mandatory: true };
    assert_eq!(read(&with_avp(&head, &avp(unknown, &[]))), Ok((None, None)));
}
