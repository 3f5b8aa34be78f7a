# What a process may do, a line for each: run as the user of the service without its unit, all of it is allowed;
# within the unit only the last lines are. Run by testing/release/systemd/checks.sh, which has laid out /srv/open,
# /home/open and /tmp/open for everybody.
# usage: perl sandbox.pl FILE
use strict;
use warnings;
use Socket;

# Numbers of x86-64.
my ($MMAP, $CHOWN, $CHMOD, $PERSONALITY, $UNSHARE) = (9, 92, 90, 135, 272);
my $own = '/var/lib/scurry/.sandbox';

sub reads {
  open(my $file, '<', shift) or return;
  return sysread($file, my $bytes, 1);
}
sub writes {
  open(my $file, '>', shift) or return;
  return print {$file} 'x';
}
sub connects { return socket(my $socket, shift, SOCK_DGRAM, 0) }
# A call that the kernel has let through. It is made in a child: some of them change the process.
sub calls {
  my @call = @_;
  my $child = fork() // die "no child: $!";
  if (!$child) { exit(syscall($call[0], @call[1 .. $#call]) == -1) }
  waitpid($child, 0);
  return $? == 0;
}

my @may = (
  ['write where everybody may', sub { writes('/srv/open/file') }],
  ['read a file in a home', sub { reads('/home/open/file') }],
  ['see what others have in /tmp', sub { -e '/tmp/open/file' }],
  ['read a disk', sub { reads('/dev/nvme0n1') }],
  ['see processes of others', sub { -e '/proc/1/status' }],
  ['become root by a set-uid program', sub { `/srv/open/id -u` eq "0\n" }],
  ['make a set-uid file', sub { calls($CHMOD, $own, oct 4700) }],
  ['change an owner', sub { calls($CHOWN, $own, $<, $( + 0) }],
  ['make a namespace', sub { calls($UNSHARE, 0x10000000) }],
  ['change its personality', sub { calls($PERSONALITY, 0x0040000) }],
  ['have memory to write and execute', sub { calls($MMAP, 0, 4096, 7, 0x22, -1, 0) }],
  ['talk to the kernel over netlink', sub { connects(16) }],
  ['talk to hosts', sub { connects(AF_INET) }],
  ['write to its directory', sub { writes($own) }],
  ['write to /tmp', sub { writes('/tmp/sandbox') }],
);

writes($own) or die "$own: $!";
my @lines = map { sprintf "%s: %s\n", $_->[0], $_->[1]->() ? 'yes' : 'no' } @may;
unlink $own, '/tmp/sandbox';
open(my $answer, '>', $ARGV[0]) or die "$ARGV[0]: $!";
print {$answer} @lines;
close($answer) or die "$ARGV[0]: $!";
