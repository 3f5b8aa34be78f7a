//! Checks that the published page matches the table that the server runs on.

#[test]
fn the_page_is_generated_from_the_table() {
    let page = include_str!("../../../docs/commands.md");
    assert!(
        page == scurry_resp::reference(false),
        "docs/commands.md differs from the table: \
         run `cargo run -p scurry-resp --example reference > docs/commands.md`"
    );
}
