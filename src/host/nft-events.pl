#!/usr/bin/perl
# Prints which chains of iptables' families change in nf_tables, a line each, and who committed it at the end of a commit:
#   chain ip nat PLAT-SERVICES        table ip6 filter        end PID PORT PROGRAM        gap
# Of the tables that its arguments name also sets, and elements by the bytes of their keys, up to 64 of a set in a commit:
#   set ip platnet addresses          element ip platnet addresses 0a6000010600000000500000
# A set of which more elements change is named as a set. PORT is the netlink port of the author's socket.
# `gap`: events were lost, or listening begins. Unlike `nft monitor` it holds no copy of the rules (150 MB where there are many).
# What is read: linux/netlink.h, linux/netfilter/nfnetlink.h and nf_tables.h.
use strict;
use warnings;

my ($af_netlink, $sock_raw, $netlink_netfilter) = (16, 3, 12);
my ($sol_socket, $so_rcvbufforce)               = (1, 33);
my $group_nftables = 7;
my ($eintr, $enobufs) = (4, 105);
my %families       = (2 => 'ip', 10 => 'ip6');

# Message types of nf_tables, and the numbers of the attributes that name what they are about.
my $nf_tables = 10 << 8;
my %subjects  = (
    $nf_tables | 0 => ['table', 1],       # new table
    $nf_tables | 2 => ['table', 1],       # table gone
    $nf_tables | 3 => ['chain', 1, 3],    # new chain
    $nf_tables | 5 => ['chain', 1, 3],    # chain gone
    $nf_tables | 6 => ['chain', 1, 2],    # new rule
    $nf_tables | 8 => ['chain', 1, 2],    # rule gone
);
my $new_generation = $nf_tables | 15;

my %has_sets = map { $_ => 1 } @ARGV;
my %sets     = ($nf_tables | 9 => 1, $nf_tables | 11 => 1);     # a set is new or gone: table 1, name 2
my %elements = ($nf_tables | 12 => 1, $nf_tables | 14 => 1);    # so are elements: table 1, set 2, list 3
my $max_keys = 64;

# Attributes by number, their values as bytes.
sub attributes_of {
    my ($bytes) = @_;
    my %values;
    my $at = 0;
    while ($at + 4 <= length $bytes) {
        my ($length, $number) = unpack 'S S', substr $bytes, $at, 4;
        last if $length < 4 || $at + $length > length $bytes;
        $values{ $number & 0x3fff } = substr $bytes, $at + 4, $length - 4;
        $at += ($length + 3) & ~3;
    }
    return \%values;
}

# A name is one word of a line, whatever it holds.
sub word_of {
    my ($bytes) = @_;
    return '?' if !defined $bytes;
    $bytes =~ s/\0.*//s;
    $bytes =~ s/[^\x21-\x7e]/?/g;
    return $bytes eq '' ? '?' : $bytes;
}

my %reported;
my %keys;
my $lines = '';

sub report {
    my ($line) = @_;
    $lines .= "$line\n" if !$reported{$line}++;
}

sub end_commit {
    my ($port, $attributes) = @_;
    for my $set (sort keys %keys) {
        my @found = sort keys %{ $keys{$set} };
        if (@found > $max_keys) { report("set $set") }
        else                    { report("element $set $_") for @found }
    }
    my ($pid, $program) = @{$attributes}{2, 3};
    $pid = defined $pid && length $pid == 4 ? unpack 'N', $pid : 0;
    $lines .= "end $pid $port " . word_of($program) . "\n";
    %reported = %keys = ();
}

# The keys of a list of elements, each in an item (1): the key (1) and in it the value (1).
sub note_elements {
    my ($set, $list) = @_;
    my $known = $keys{$set} ||= {};
    my $at = 0;
    while ($at + 4 <= length $list && keys %{$known} <= $max_keys) {
        my $length = unpack 'S', substr $list, $at, 2;
        last if $length < 4 || $at + $length > length $list;
        my $key = attributes_of(substr $list, $at + 4, $length - 4)->{1};
        my $value = defined $key ? attributes_of($key)->{1} : undef;
        $known->{ defined $value ? unpack 'H*', $value : '?' } = 1;
        $at += ($length + 3) & ~3;
    }
}

# First bytes of messages about elements of which enough are known: the family, the table and the set.
my $full = '';

sub note_set {
    my ($is_set, $family, $attributes, $body) = @_;
    my ($table, $name, $list) = @{$attributes}{1, 2, 3};
    return if !defined $table || !defined $name || !$has_sets{ word_of($table) };
    my $set = join ' ', $families{$family}, word_of($table), word_of($name);
    if ($is_set) {
        report("set $set");
        return;
    }
    note_elements($set, $list // '');
    $full = substr $body, 0, 4 + padded($table) + padded($name) if keys %{ $keys{$set} } > $max_keys;
}

# The length of an attribute with its head.
sub padded {
    my ($value) = @_;
    return (4 + length($value) + 3) & ~3;
}

sub note_message {
    my ($type, $port, $body) = @_;
    return if $full ne '' && $elements{$type} && $full eq substr $body, 0, length $full;
    my $family     = unpack 'C', $body;
    my $attributes = attributes_of(substr $body, 4);
    if ($type == $new_generation) {
        $full = '';
        return end_commit($port, $attributes);
    }
    return if !defined $families{$family};
    if ($sets{$type} || $elements{$type}) {
        note_set($sets{$type}, $family, $attributes, $body);
        return;
    }
    my $subject = $subjects{$type} or return;
    my ($kind, @names) = @{$subject};
    report(join ' ', $kind, $families{$family}, map { word_of($attributes->{$_}) } @names);
}

# Each message: length, type, flags, sequence and port; then family, version and resource; then attributes.
sub read_messages {
    my ($bytes) = @_;
    my $at = 0;
    while ($at + 20 <= length $bytes) {
        my ($length, $type, undef, undef, $port) = unpack 'L S S L L', substr $bytes, $at, 16;
        last if $length < 20 || $at + $length > length $bytes;
        note_message($type, $port, substr $bytes, $at + 16, $length - 16);
        $at += ($length + 3) & ~3;
    }
}

socket my $events, $af_netlink, $sock_raw, $netlink_netfilter or die "socket: $!\n";
setsockopt $events, $sol_socket, $so_rcvbufforce, pack 'i', 16 * 1024 * 1024;
bind $events, pack 'S S L L', $af_netlink, 0, 0, 1 << ($group_nftables - 1) or die "bind: $!\n";
syswrite STDOUT, "gap\n";

# Waits for events. An agent that is killed closes its end of the socket, which alone shows its death while no rule changes.
my $reader = -S STDOUT ? fileno STDOUT : undef;

sub await_events {
    my $ready = '';
    vec($ready, fileno $events, 1) = 1;
    vec($ready, $reader,        1) = 1 if defined $reader;
    my $found = select $ready, undef, undef, undef;
    exit 0 if $found > 0 && defined $reader && vec $ready, $reader, 1;
}

while (1) {
    await_events();
    my $bytes;
    if (defined recv $events, $bytes, 1 << 17, 0) {
        read_messages($bytes);
    } elsif ($! == $enobufs) {
        %reported = %keys = ();
        $full = '';
        $lines .= "gap\n";
    } elsif ($! != $eintr) {
        die "recv: $!\n";
    }
    syswrite STDOUT, $lines if $lines ne '';
    $lines = '';
}
