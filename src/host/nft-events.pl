#!/usr/bin/perl
# Prints which chains of iptables' families change in nf_tables, a line each, and who committed it at the end of a commit:
#   chain ip nat PLAT-SERVICES        table ip6 filter        end PID PROGRAM        gap
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
my $lines = '';

sub note_message {
    my ($type, $family, $attributes) = @_;
    if ($type == $new_generation) {
        my ($pid, $program) = @{$attributes}{2, 3};
        $pid = defined $pid && length $pid == 4 ? unpack 'N', $pid : 0;
        $lines .= "end $pid " . word_of($program) . "\n";
        %reported = ();
        return;
    }
    my $subject = $subjects{$type};
    return if !$subject || !defined $families{$family};
    my ($kind, @names) = @{$subject};
    my $line = join ' ', $kind, $families{$family}, map { word_of($attributes->{$_}) } @names;
    $lines .= "$line\n" if !$reported{$line}++;
}

# Each message: length, type, flags, sequence and port; then family, version and resource; then attributes.
sub read_messages {
    my ($bytes) = @_;
    my $at = 0;
    while ($at + 20 <= length $bytes) {
        my ($length, $type) = unpack 'L S', substr $bytes, $at, 6;
        last if $length < 20 || $at + $length > length $bytes;
        my $family = unpack 'C', substr $bytes, $at + 16, 1;
        note_message($type, $family, attributes_of(substr $bytes, $at + 20, $length - 20));
        $at += ($length + 3) & ~3;
    }
}

socket my $events, $af_netlink, $sock_raw, $netlink_netfilter or die "socket: $!\n";
setsockopt $events, $sol_socket, $so_rcvbufforce, pack 'i', 16 * 1024 * 1024;
bind $events, pack 'S S L L', $af_netlink, 0, 0, 1 << ($group_nftables - 1) or die "bind: $!\n";
syswrite STDOUT, "gap\n";
while (1) {
    my $bytes;
    if (defined recv $events, $bytes, 1 << 17, 0) {
        read_messages($bytes);
    } elsif ($! == $enobufs) {
        %reported = ();
        $lines .= "gap\n";
    } elsif ($! != $eintr) {
        die "recv: $!\n";
    }
    syswrite STDOUT, $lines if $lines ne '';
    $lines = '';
}
