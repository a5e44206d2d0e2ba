# Connects to Services and is every endpoint itself, on port 8080 of all addresses: no process has to be woken while connect() lasts, so that what is
# measured is the kernel's way for packets. Each line of the input is one order:
#   time PORT ADDRESS...         answers with the microseconds of each connect(), or "failed", one after the other
#   until ADDRESS PORT ENDPOINT [SECONDS]  connects until that endpoint is reached, and says "seen", or "late" after so many seconds
#   gone ADDRESS PORT ENDPOINT   connects until only others were reached 60 times, and says after how many milliseconds it was last
use strict; use warnings;
use Socket;
use Time::HiRes qw(clock_gettime usleep CLOCK_MONOTONIC);
$| = 1;
my $source = sockaddr_in(0, inet_aton($ARGV[0]));

socket(my $listener, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, 1) or die "SO_REUSEADDR: $!";
setsockopt($listener, SOL_SOCKET, SO_RCVTIMEO, pack('l!l!', 1, 0)) or die "SO_RCVTIMEO: $!";
bind($listener, sockaddr_in(8080, INADDR_ANY)) or die "bind: $!";
listen($listener, 128) or die "listen: $!";
print "listening\n";

# The microseconds of connect() and the endpoint that took it; nothing where there was no answer.
sub attempt {
  my ($address, $port) = @_;
  socket(my $socket, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
  setsockopt($socket, SOL_SOCKET, SO_SNDTIMEO, pack('l!l!', 0, 30_000)) or die "SO_SNDTIMEO: $!";
  setsockopt($socket, 0, 24, 1); # IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT: the port is chosen in connect(), as for any client
  bind($socket, $source) or die "bind: $!";
  my $to = sockaddr_in($port, inet_aton($address));
  my $started = clock_gettime(CLOCK_MONOTONIC);
  connect($socket, $to) or return ();
  my $took = clock_gettime(CLOCK_MONOTONIC) - $started;
  return ($took * 1e6, endpoint_of($socket));
}

# Who took the connection, which it closes first, so that no port of the client waits. One of which connect() had heard too late may stand before it.
sub endpoint_of {
  my $own = getsockname(shift);
  while (my $peer = accept(my $accepted, $listener)) {
    my (undef, $address) = sockaddr_in(getsockname($accepted));
    return inet_ntoa($address) if $peer eq $own;
  }
  return '';
}

while (my $line = <STDIN>) {
  my ($order, @words) = split ' ', $line;
  if ($order eq 'time') {
    my ($port, @addresses) = @words;
    system('chrt', '--fifo', '--pid', '10', $$); # while it is timed, others on the machine wait
    my @took = map { (attempt($_, $port))[0] } @addresses;
    system('chrt', '--other', '--pid', '0', $$);
    print join(' ', map { defined $_ ? sprintf('%.1f', $_) : 'failed' } @took), "\n";
  } elsif ($order eq 'gone') {
    my ($address, $port, $endpoint) = @words;
    my $started = clock_gettime(CLOCK_MONOTONIC);
    my $last = $started;
    for (my $others = 0; $others < 60;) {
      my (undef, $reached) = attempt($address, $port);
      next unless defined $reached;
      if ($reached eq $endpoint) { $last = clock_gettime(CLOCK_MONOTONIC); $others = 0 } else { $others++ }
    }
    printf "%.2f\n", 1000 * ($last - $started);
  } else {
    my ($address, $port, $endpoint, $seconds) = @words;
    my $started = clock_gettime(CLOCK_MONOTONIC);
    my $answer;
    for (my $tries = 1; !$answer; $tries++) {
      my (undef, $reached) = attempt($address, $port);
      if (defined $reached && $reached eq $endpoint) { $answer = 'seen' }
      elsif ($seconds && clock_gettime(CLOCK_MONOTONIC) - $started > $seconds) { $answer = 'late' }
      elsif ($tries % 8 == 0) { usleep(1000) }
    }
    print "$answer\n";
  }
}
