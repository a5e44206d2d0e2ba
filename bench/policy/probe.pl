# Sends as the pods of other nodes and receives as the pods of this node: one process with sockets in both namespaces, so that none has to be
# woken before it can see a packet. Arguments: the namespaces of the receivers and of the senders. Each line of the input is one order:
#   allowed SINCE SOURCE DESTINATION...  sends datagrams until one has reached each destination; says the milliseconds
#   denied SINCE SOURCE DESTINATION...   until none reaches any; says the milliseconds until the first that was lost for good
#   time DESTINATION SOURCE...           says the microseconds of a connect() from each source, or "failed"
# SINCE is a time of CLOCK_MONOTONIC in nanoseconds. A UDP flow without an answer stays new to the kernel: each of its packets is judged.
use strict; use warnings;
use Socket;
use Time::HiRes qw(clock_gettime usleep CLOCK_MONOTONIC);
$| = 1;
my ($receivers, $senders) = @ARGV;
my ($udp_port, $tcp_port) = (9000, 8080);
my $misses_in_a_row = 5;

sub enter {
  open my $namespace, '<', "/run/netns/$_[0]" or die "$_[0]: $!";
  syscall(308, fileno $namespace, 0x40000000) == 0 or die "setns: $!"; # CLONE_NEWNET
}

enter($receivers);
socket(my $arrived, PF_INET, SOCK_DGRAM, 0) or die "socket: $!";
bind($arrived, pack_sockaddr_in($udp_port, INADDR_ANY)) or die "bind: $!";
socket(my $listener, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
bind($listener, pack_sockaddr_in($tcp_port, INADDR_ANY)) or die "bind: $!";
listen($listener, 128) or die "listen: $!";
enter($senders);
print "listening\n";

my $number = 0;

# Whether a datagram arrives within 3 ms.
sub arrives {
  my ($sender, $to) = @_;
  $number++;
  send($sender, $number, 0, $to) or return 0;
  vec(my $wanted = '', fileno $arrived, 1) = 1;
  while (select(my $ready = $wanted, undef, undef, 0.003)) {
    recv($arrived, my $text, 64, 0);
    return 1 if $text eq $number;
  }
  return 0;
}

sub sender_of {
  my ($source) = @_;
  socket(my $sender, PF_INET, SOCK_DGRAM, 0) or die "socket: $!";
  bind($sender, pack_sockaddr_in(0, inet_aton($source))) or die "$source: $!";
  return $sender;
}

sub until_allowed {
  my ($sender, $to) = @_;
  usleep(200) until arrives($sender, $to);
  return clock_gettime(CLOCK_MONOTONIC);
}

sub until_denied {
  my ($sender, $to) = @_;
  my ($misses, $first) = (0, 0);
  while ($misses < $misses_in_a_row) {
    my $sent = clock_gettime(CLOCK_MONOTONIC);
    if (arrives($sender, $to)) { $misses = 0; usleep(200) }
    elsif ($misses++ == 0) { $first = $sent }
  }
  return $first;
}

sub connect_time {
  my ($from, $to) = @_;
  socket(my $socket, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
  setsockopt($socket, SOL_SOCKET, SO_SNDTIMEO, pack('l!l!', 0, 30_000)) or die "SO_SNDTIMEO: $!";
  setsockopt($socket, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0)) or die "SO_LINGER: $!"; # no port waits after it
  bind($socket, $from) or die "bind: $!";
  my $started = clock_gettime(CLOCK_MONOTONIC);
  connect($socket, $to) or return 'failed';
  my $took = clock_gettime(CLOCK_MONOTONIC) - $started;
  accept(my $accepted, $listener);
  return sprintf '%.2f', $took * 1e6;
}

while (my $line = <STDIN>) {
  my ($order, @words) = split ' ', $line;
  if ($order eq 'time') {
    my ($destination, @sources) = @words;
    my $to = pack_sockaddr_in($tcp_port, inet_aton($destination));
    my @from = map { pack_sockaddr_in(0, inet_aton($_)) } @sources;
    system('chrt', '--fifo', '--pid', '10', $$); # while it is timed, others on the machine wait
    my @took = map { connect_time($_, $to) } @from;
    system('chrt', '--other', '--pid', '0', $$);
    print "@took\n";
  } else {
    my ($since, $source, @destinations) = @words;
    my $sender = sender_of($source);
    my $judge = $order eq 'allowed' ? \&until_allowed : \&until_denied;
    my $last = 0;
    for my $destination (@destinations) {
      my $at = $judge->($sender, pack_sockaddr_in($udp_port, inet_aton($destination)));
      $last = $at if $at > $last;
    }
    my $took = 1000 * ($last - $since / 1e9);
    printf "%.3f\n", $took > 0 ? $took : 0;
  }
}
