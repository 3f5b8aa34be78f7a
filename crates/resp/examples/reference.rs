//! Prints docs/commands.md.

fn main() {
    print!("{}", scurry_resp::reference());
}
