# The program of a pod that sends from its first instruction: first-packets.pl TEXT SETS PORT ADDRESS... sends TEXT to each address so many times, and
# tries to connect there each time.
use strict; use warnings;
use Socket qw(:DEFAULT inet_pton pack_sockaddr_in pack_sockaddr_in6 MSG_DONTWAIT);
my ($text, $sets, $port, @addresses) = @ARGV;
my @ends = map { /:/ ? [AF_INET6, pack_sockaddr_in6($port, inet_pton(AF_INET6, $_))] : [AF_INET, pack_sockaddr_in($port, inet_aton($_))] } @addresses;
my @udp = map { socket(my $socket, $_->[0], SOCK_DGRAM, 0) or die "socket: $!"; $socket } @ends;
my @kept;
for my $set (1 .. $sets) {
  for my $index (0 .. $#ends) {
    my ($family, $to) = @{ $ends[$index] };
    send $udp[$index], $text, MSG_DONTWAIT, $to;
    next if $set % 10 != 1;
    socket(my $socket, $family, SOCK_STREAM, 0) or die "socket: $!";
    $socket->blocking(0);
    connect $socket, $to;
    push @kept, $socket;
  }
  select undef, undef, undef, 0.001;
}
