# Sends and receives in many network namespaces from one process: a socket stays in the namespace in which it was made. Argument: the number of
# setns on this processor. Each line of the input is one order:
#   enter NAME NETNS                              names a namespace
#   listen NAME PROTOCOL ADDRESS PORT             answers there with "NAME SOURCE" (TCP, UDP), or notes what comes (SCTP)
#   probe NAME PROTOCOL SOURCE PORT DESTINATION PORT WANTED   queues one try; WANTED is 1 if an answer is expected; SOURCE may be "-"
#   go QUIET_MS PATIENCE_MS AGAIN                 makes all tries (repeats those without an answer where AGAIN is 1), waits PATIENCE_MS at most for wanted ones and QUIET_MS for all, and answers a line each
#   open ID NAME PROTOCOL SOURCE PORT DESTINATION PORT        opens a flow that stays (TCP, UDP)
#   ask ID PATIENCE_MS                            sends in the flow and answers with what came back
#   close ID
#   push NAME                                     sends one more line in every TCP connection that NAME has accepted
#   catch NAME ADDRESS PORT                       counts the datagrams and connections that arrive there, and answers none
#   caught                                        answers with "WHAT COUNT", one after the other, and forgets them
# A line of an answer is "NAME SOURCE" of who received the try, "one-way NAME SOURCE" if its answer did not come back, "refused", "-" or an error.
# A line "late ..." before them tells that a try of an earlier turn arrived after its end.
use strict; use warnings;
use Socket qw(:DEFAULT :addrinfo inet_pton inet_ntop pack_sockaddr_in6 unpack_sockaddr_in6 IPPROTO_IPV6 IPV6_V6ONLY SO_LINGER MSG_DONTWAIT);
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
use Errno qw(EINPROGRESS ECONNREFUSED);
$| = 1;
my $sys_setns = $ARGV[0] + 0;
my (%netns, %raw, %sctp_ports, %handler, %socket_of, @tries, %by_token, %flows, %accepted, %caught, @late);
my ($reading, $writing, $token, $turn) = ('', '', 0, 0);

sub now { return 1000 * clock_gettime(CLOCK_MONOTONIC) }
sub is_six { return index($_[0], ':') >= 0 }
sub pack_address { my ($address, $port) = @_; return is_six($address) ? pack_sockaddr_in6($port, inet_pton(AF_INET6, $address)) : sockaddr_in($port, inet_aton($address)) }
sub show_address {
  my ($packed) = @_;
  return inet_ntoa((sockaddr_in($packed))[1]) if sockaddr_family($packed) == AF_INET;
  my $text = inet_ntop(AF_INET6, (unpack_sockaddr_in6($packed))[1]);
  $text =~ s/^::ffff:(?=\d+\.)//;
  return $text;
}
sub enter { my ($name) = @_; syscall($sys_setns, fileno($netns{$name} // die "no namespace $name"), 0x40000000) == 0 or die "setns $name: $!" }
sub make_socket {
  my ($name, $six, $type, $protocol) = @_;
  enter($name);
  socket(my $socket, $six ? AF_INET6 : AF_INET, $type, $protocol) or die "socket in $name: $!";
  $socket->blocking(0);
  return $socket;
}
sub watch { my ($socket, $on_read) = @_; my $fd = fileno $socket; ($handler{$fd}, $socket_of{$fd}) = ($on_read, $socket); vec($reading, $fd, 1) = 1 }
sub await_connection { my ($socket, $on_change) = @_; my $fd = fileno $socket; ($handler{$fd}, $socket_of{$fd}) = ($on_change, $socket); vec($reading, $fd, 1) = 1; vec($writing, $fd, 1) = 1 }
sub forget { my ($socket) = @_; my $fd = fileno $socket // return; delete $handler{$fd}; delete $socket_of{$fd}; vec($reading, $fd, 1) = 0; vec($writing, $fd, 1) = 0 }
sub reset_and_close { my ($socket) = @_; forget($socket); setsockopt($socket, SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0); close $socket }

# Handles what is ready until $is_done or the time is over.
sub spin {
  my ($is_done, $until) = @_;
  until ($is_done->()) {
    my $left = $until - now();
    $left = 0 if $left < 0;
    my ($r, $w) = ($reading, $writing);
    my $count = select($r, $w, undef, $left / 1000);
    return if $count <= 0 && now() >= $until;
    next if $count <= 0;
    my $ready = unpack 'b*', $r | $w;
    for (my $fd = index $ready, '1'; $fd >= 0; $fd = index $ready, '1', $fd + 1) { $handler{$fd}->() if $handler{$fd} }
  }
}

sub listen_tcp {
  my ($name, $address, $port) = @_;
  my $listener = make_socket($name, is_six($address), SOCK_STREAM, 0);
  setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, 1);
  bind $listener, pack_address($address, $port) or die "bind $name $address $port: $!";
  listen $listener, 1024 or die "listen: $!";
  watch($listener, sub {
    while (my $peer = accept my $accepted, $listener) {
      my $line = "$name " . show_address($peer) . "\n";
      $accepted->blocking(0);
      syswrite $accepted, $line;
      $accepted{$name}{fileno $accepted} = [$accepted, $line];
      watch($accepted, sub {
        my $got = sysread $accepted, my $bytes, 4096;
        if ($got) { syswrite $accepted, $line } elsif (defined $got || !$!{EAGAIN}) { delete $accepted{$name}{fileno $accepted}; forget($accepted); close $accepted }
      });
    }
  });
}

sub listen_udp {
  my ($name, $address, $port) = @_;
  my $socket = make_socket($name, is_six($address), SOCK_DGRAM, 0);
  bind $socket, pack_address($address, $port) or die "bind $name $address $port: $!";
  watch($socket, sub {
    while (defined(my $peer = recv $socket, my $bytes, 4096, MSG_DONTWAIT)) {
      my $line = "$name " . show_address($peer);
      arrived(unpack('N', $bytes), $line) if length $bytes >= 4;
      send $socket, "$line\n", MSG_DONTWAIT, $peer;
    }
  });
}

sub catch_all {
  my ($name, $address, $port) = @_;
  my $socket = make_socket($name, is_six($address), SOCK_DGRAM, 0);
  bind $socket, pack_address($address, $port) or die "bind $name $address $port: $!";
  watch($socket, sub { while (defined recv $socket, my $bytes, 4096, MSG_DONTWAIT) { $caught{$bytes}++ } });
  my $listener = make_socket($name, is_six($address), SOCK_STREAM, 0);
  bind $listener, pack_address($address, $port) or die "bind $name $address $port: $!";
  listen $listener, 1024 or die "listen: $!";
  watch($listener, sub { while (my $peer = accept my $accepted, $listener) { $caught{'tcp:' . show_address($peer)}++ } });
}

# Kernels without SCTP sockets send, forward and deliver its packets all the same: an INIT (RFC 9260) whose tag is the token.
sub open_raw {
  my ($name, $six, $protocol, $on_packet) = @_;
  return if $raw{"$name $six $protocol"}++;
  my $socket = make_socket($name, $six, SOCK_RAW, $protocol);
  watch($socket, sub {
    while (defined(my $peer = recv $socket, my $bytes, 4096, MSG_DONTWAIT)) {
      substr($bytes, 0, 4 * (ord($bytes) & 15)) = '' unless $six;
      $on_packet->($bytes, show_address($peer));
    }
  });
}

sub listen_sctp {
  my ($name, $address, $port) = @_;
  $sctp_ports{"$name $port"} = 1;
  open_raw($name, is_six($address), 132, sub {
    my ($bytes, $source) = @_;
    my (undef, $to, undef, undef, $chunk, undef, undef, $tag) = unpack 'nnNNCCnN', $bytes;
    arrived($tag, "$name $source", 1) if defined $tag && $chunk == 1 && $sctp_ports{"$name $to"};
  });
}

sub arrived {
  my ($tag, $line, $is_all) = @_;
  my $try = $by_token{$tag};
  if (!$try) { push @late, $line; return }
  if ($try->{turn} != $turn) { push @late, "$line of $try->{text}" unless $try->{result}; return }
  $try->{arrived} //= $line;
  $try->{result} //= $line if $is_all;
}

my @crc_table = map { my $c = $_; $c = $c & 1 ? ($c >> 1) ^ 0x82f63b78 : $c >> 1 for 1 .. 8; $c } 0 .. 255;
sub crc32c { my $c = 0xffffffff; $c = $crc_table[($c ^ $_) & 255] ^ ($c >> 8) for unpack 'C*', $_[0]; return $c ^ 0xffffffff }
sub sctp_init {
  my ($from, $to, $tag) = @_;
  my $packet = pack 'nnNNCCnNNnnN', $from, $to, 0, 0, 1, 0, 20, $tag, 65536, 1, 1, $tag;
  substr($packet, 8, 4) = pack 'V', crc32c($packet);
  return $packet;
}
# The low half of the token is the identifier, so that each try is a flow of its own to conntrack.
sub echo_request {
  my ($six, $tag) = @_;
  my $packet = pack 'CCnnn', $six ? 128 : 8, 0, 0, $tag & 0xffff, $tag >> 16;
  return $packet if $six;
  my $sum = 0;
  $sum += $_ for unpack 'n*', $packet;
  $sum = ($sum & 0xffff) + ($sum >> 16) while $sum >> 16;
  substr($packet, 2, 2) = pack 'n', ~$sum & 0xffff;
  return $packet;
}

sub send_raw {
  my ($try) = @_;
  my $six = is_six($try->{to});
  my $protocol = $try->{protocol} eq 'SCTP' ? 132 : $six ? 58 : 1;
  if ($try->{protocol} ne 'SCTP') {
    open_raw($try->{name}, $six, $protocol, sub {
      my ($bytes) = @_;
      my ($type, undef, undef, $low, $high) = unpack 'CCnnn', $bytes;
      arrived($low | $high << 16, 'echo', 1) if defined $high && ($type == 0 || $type == 129);
    });
  }
  my $socket = make_socket($try->{name}, $six, SOCK_RAW, $protocol);
  if ($try->{from} ne '-') { bind $socket, pack_address($try->{from}, 0) or die "bind $try->{text}: $!" }
  my $packet = $protocol == 132 ? sctp_init($try->{sport}, $try->{port}, $try->{token}) : echo_request($six, $try->{token});
  send $socket, $packet, MSG_DONTWAIT, pack_address($try->{to}, 0);
  close $socket;
}

sub client_socket {
  my ($name, $protocol, $from, $sport, $to) = @_;
  my $socket = make_socket($name, is_six($to), $protocol eq 'TCP' ? SOCK_STREAM : SOCK_DGRAM, 0);
  setsockopt($socket, SOL_SOCKET, SO_REUSEADDR, 1);
  my $any = is_six($to) ? '::' : '0.0.0.0';
  bind $socket, pack_address($from eq '-' ? $any : $from, $sport) or die "bind $name $from $sport: $!";
  return $socket;
}

sub failure { return $! == ECONNREFUSED ? 'refused' : 0 + $! == 1 ? undef : "error $!" }

sub start_try {
  my ($try) = @_;
  return send_raw($try) if $try->{protocol} eq 'SCTP' || $try->{protocol} eq 'other';
  my $socket = $try->{socket} = client_socket(@$try{qw(name protocol from sport to)});
  my $is_connected = connect $socket, pack_address(@$try{qw(to port)});
  if (!$is_connected && $! != EINPROGRESS) { $try->{result} = failure(); return }
  send $socket, pack('N', $try->{token}), MSG_DONTWAIT if $try->{protocol} eq 'UDP';
  watch($socket, sub {
    my $got = sysread $socket, my $bytes, 4096;
    if ($got) { chomp $bytes; $try->{result} //= $bytes } elsif (!$!{EAGAIN}) { $try->{result} //= defined $got ? 'closed' : failure(); forget($socket) }
  });
}

sub repeat_try { my ($try) = @_; if ($try->{protocol} eq 'UDP') { send $try->{socket}, pack('N', $try->{token}), MSG_DONTWAIT } elsif ($try->{protocol} ne 'TCP') { send_raw($try) } }

sub make_all {
  my ($quiet, $patience, $repeats) = @_;
  $turn++;
  start_try($_) for @tries;
  my $sent = now();
  my @open = grep { $_->{wanted} } @tries;
  my $is_done = sub { pop @open while @open && defined $open[-1]{result}; return !@open };
  for (my $again = $sent + 300; !$is_done->() && now() < $sent + $patience; $again += 300) {
    spin($is_done, $again < $sent + $patience ? $again : $sent + $patience);
    repeat_try($_) for grep { $repeats && !defined $_->{result} } @open;
  }
  spin(sub { 0 }, $sent + $quiet > now() ? $sent + $quiet : now() + 1);
  print "late $_\n" for splice @late;
  print $_->{result} // ($_->{arrived} ? "one-way $_->{arrived}" : '-'), "\n" for @tries;
  for my $try (@tries) { reset_and_close(delete $try->{socket}) if $try->{socket} }
  delete @by_token{grep { $by_token{$_}{turn} < $turn - 3 } keys %by_token};
  @tries = ();
}

sub open_flow {
  my ($id, $name, $protocol, $from, $sport, $to, $port) = @_;
  my $socket = client_socket($name, $protocol, $from, $sport, $to);
  my $flow = $flows{$id} = { socket => $socket, protocol => $protocol, text => '' };
  connect $socket, pack_address($to, $port) or $! == EINPROGRESS or die "connect: $!";
  watch($socket, sub {
    my $got = sysread $socket, my $bytes, 4096;
    if ($got) { $flow->{text} = $bytes } elsif (!$!{EAGAIN}) { $flow->{text} ||= defined $got ? "closed\n" : ($! == ECONNREFUSED ? "refused\n" : "error $!\n"); forget($socket) if $protocol eq 'TCP' }
  });
}

sub ask_flow {
  my ($id, $patience) = @_;
  my $flow = $flows{$id} // die "no flow $id";
  my $until = now() + $patience;
  if ($flow->{protocol} eq 'TCP' && !$flow->{open}) { spin(sub { $flow->{text} ne '' }, $until); $flow->{open} = $flow->{text} ne '' }
  spin(sub { 0 }, now() + 1);
  $flow->{text} = '';
  my $is_answered = sub { $flow->{text} ne '' };
  do {
    send $flow->{socket}, "?\n", MSG_DONTWAIT;
    my $again = now() + 200;
    spin($is_answered, $again < $until ? $again : $until);
  } until $is_answered->() || now() >= $until;
  my ($line) = split /\n/, $flow->{text};
  print $line // '-', "\n";
}

my %listen = (TCP => \&listen_tcp, UDP => \&listen_udp, SCTP => \&listen_sctp);
my %orders = (
  enter => sub { my ($name, $path) = @_; open $netns{$name}, '<', "/run/netns/$path" or die "$path: $!" },
  listen => sub { my ($name, $protocol, @where) = @_; $listen{$protocol}->($name, @where) },
  probe => sub {
    my %try = (text => join(' ', @_), turn => $turn + 1, token => ++$token);
    @try{qw(name protocol from sport to port wanted)} = @_;
    push @tries, $by_token{$token} = \%try;
  },
  go => \&make_all,
  open => \&open_flow,
  ask => \&ask_flow,
  catch => \&catch_all,
  caught => sub { spin(sub { 0 }, now() + 50); print join(' ', map { "$_ $caught{$_}" } sort keys %caught), "\n"; %caught = () },
  close => sub { my $flow = delete $flows{$_[0]}; reset_and_close($flow->{socket}) if $flow },
  push => sub { syswrite $_->[0], $_->[1] for values %{ $accepted{$_[0]} } },
);

# Orders are read as they come; between them what arrives is answered, so that flows go on.
my $input = '';
STDIN->blocking(0);
my $is_ended = 0;
watch(\*STDIN, sub { my $got = sysread STDIN, my $bytes, 1 << 20; if ($got) { $input .= $bytes } elsif (defined $got) { $is_ended = 1 } });
until ($is_ended) {
  spin(sub { $is_ended || index($input, "\n") >= 0 }, now() + 60_000);
  while ($input =~ s/^([^\n]*)\n//) { my ($order, @words) = split ' ', $1; ($orders{$order} // die "no order $order")->(@words) }
}
