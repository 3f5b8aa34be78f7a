//! Prints docs/commands.json.

fn main() {
    print!("{}", scurry_resp::table_json());
}
