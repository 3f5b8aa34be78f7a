package scurry.lab;

/**
 * A member of a system: its port, that of the first one, which member it is, counted from 1, of how many,
 * how many backups there are of each key, and how safe a change is when it is answered.
 */
record Member(int port, int first, int number, int members, int backups, String durability) {}
