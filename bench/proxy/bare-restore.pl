#!/usr/bin/perl
# Times `iptables-restore --noflush` of what stands on standard input, again and again: milliseconds, a line each.
# It is small and forks at once, as what starts our own programs does.
use strict;
use warnings;
use Time::HiRes 'time';

my ($repeats) = @ARGV;
my $text = do { local $/; <STDIN> };
for (1 .. $repeats) {
    my $started = time;
    open my $restore, '|-', 'iptables-restore', '--noflush' or die "iptables-restore: $!\n";
    print $restore $text;
    close $restore or die "iptables-restore ended with $?\n";
    printf "%.2f\n", 1000 * (time - $started);
}
