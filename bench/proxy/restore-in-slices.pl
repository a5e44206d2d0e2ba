#!/usr/bin/perl
# Stands before iptables-restore for kube-proxy: a write of thousands of chains, which iptables-nft takes minutes for in one transaction, goes
# in slices. First the endpoints' chains, then the Services', to which nothing leads yet; then all the rest at once. Small writes go as they are.
use strict; use warnings;
my $chains_per_slice = 500;

sub restore {
  open(my $program, '|-', '/usr/sbin/iptables-restore', @ARGV) or die "iptables-restore: $!";
  print $program @_;
  close($program) or exit($? >> 8 || 1);
}

my (@rest, %declared, %rules, $table);
while (my $line = <STDIN>) {
  $table = $1 if $line =~ /^\*(\w+)/;
  if ($table eq 'nat' && $line =~ /^:(KUBE-S(?:EP|VC)-\S+)/) { $declared{$1} = $line; $rules{$1} //= [] }
  elsif ($table eq 'nat' && $line =~ /^-A (KUBE-S(?:EP|VC)-\S+)/ && $declared{$1}) { push @{$rules{$1}}, $line }
  else { push @rest, $line }
}
my @names = sort keys %declared; # SEP before SVC
if (@names <= $chains_per_slice) {
  # As it came: the Services' chains right after the table they belong to.
  my @own = ((map { $declared{$_} } @names), (map { @{$rules{$_}} } @names));
  my ($at) = grep { $rest[$_] eq "*nat\n" } 0 .. $#rest;
  splice(@rest, $at + 1, 0, @own) if @own;
} else {
  while (my @slice = splice(@names, 0, $chains_per_slice)) {
    restore("*nat\n:KUBE-MARK-MASQ - [0:0]\n-A KUBE-MARK-MASQ -j MARK --or-mark 0x4000\n",
      (map { $declared{$_} } @slice), (map { @{$rules{$_}} } @slice), "COMMIT\n");
  }
}
restore(@rest);
