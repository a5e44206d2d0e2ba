# Connects to Services, bare enough that what is measured is the kernel. Each line of the input is one order:
#   time ADDRESS PORT            answers with the microseconds of connect(), or "failed"
#   until ADDRESS PORT ENDPOINT  connects until that endpoint answers, and says "seen"
#   gone ADDRESS PORT ENDPOINT   connects until only others have answered 60 times, and says after how many milliseconds it answered last
# Every endpoint writes its own address and closes first, so that no port of ours waits.
use strict; use warnings;
use Socket;
use Time::HiRes qw(clock_gettime usleep CLOCK_MONOTONIC);
$| = 1;
my $source = sockaddr_in(0, inet_aton($ARGV[0]));

sub attempt {
  my ($address, $port) = @_;
  socket(my $socket, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
  setsockopt($socket, SOL_SOCKET, SO_SNDTIMEO, pack('l!l!', 0, 30_000)) or die "SO_SNDTIMEO: $!";
  setsockopt($socket, SOL_SOCKET, SO_RCVTIMEO, pack('l!l!', 1, 0)) or die "SO_RCVTIMEO: $!";
  setsockopt($socket, 0, 24, 1); # IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT: the port is chosen in connect(), as for any client
  bind($socket, $source) or die "bind: $!";
  my $to = sockaddr_in($port, inet_aton($address));
  my $started = clock_gettime(CLOCK_MONOTONIC);
  connect($socket, $to) or return ();
  my $took = clock_gettime(CLOCK_MONOTONIC) - $started;
  my $answer = ''; my $part;
  while (sysread($socket, $part, 256)) { $answer .= $part }
  return ($took, $answer);
}

while (my $line = <STDIN>) {
  my ($order, $address, $port, $endpoint) = split ' ', $line;
  if ($order eq 'time') {
    my ($took) = attempt($address, $port);
    print defined $took ? sprintf("%.1f\n", $took * 1e6) : "failed\n";
  } elsif ($order eq 'gone') {
    my $started = clock_gettime(CLOCK_MONOTONIC);
    my $last = $started;
    for (my $others = 0; $others < 60;) {
      my (undef, $answer) = attempt($address, $port);
      next unless defined $answer;
      if ($answer eq $endpoint) { $last = clock_gettime(CLOCK_MONOTONIC); $others = 0 } else { $others++ }
    }
    printf "%.2f\n", 1000 * ($last - $started);
  } else {
    for (my $tries = 1; ; $tries++) {
      my (undef, $answer) = attempt($address, $port);
      last if defined $answer && $answer eq $endpoint;
      usleep(1000) if $tries % 8 == 0;
    }
    print "seen\n";
  }
}
