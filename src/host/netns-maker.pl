#!/usr/bin/perl -w
# Makes and removes network namespaces under /run/netns as `ip netns` does, without starting two programs for each:
#   add NAME        makes it, with its loopback up        delete NAME
# A line of standard output answers each line of standard input: `done`, or what failed. Ends with its standard input. The arguments are
# the numbers of unshare, mount and umount2 on this processor (Perl knows no names for them without a module of 200 KB).
use strict;

my ($sys_unshare, $sys_mount, $sys_umount2) = map { $_ + 0 } @ARGV;
my ($clone_newnet, $ms_bind, $ms_rec, $ms_shared, $mnt_detach) = (0x40000000, 0x1000, 0x4000, 0x100000, 2);
my ($siocsifflags, $iff_up) = (0x8914, 1);
my $folder = '/run/netns';

sub mount_at {
    my ($source, $target, $flags) = @_;
    $_ .= "\0" for $source, $target;
    my $type = "none\0";
    return syscall($sys_mount, $source, $target, $type, $flags, 0) == 0;
}

# Mount namespaces that were made before must see it come and go, so the folder is a mount of its own that is shared (ip-netns(8)).
sub share_folder {
    mkdir $folder, 0755;
    return 1 if mount_at('', $folder, $ms_shared | $ms_rec);
    mount_at($folder, $folder, $ms_bind | $ms_rec) or return;
    return mount_at('', $folder, $ms_shared | $ms_rec);
}

# In a process of its own, which leaves its namespace behind under the name.
sub become_namespace {
    my ($path) = @_;
    syscall($sys_unshare, $clone_newnet) == 0 or return "unshare: $!";
    socket my $socket, 2, 2, 0 or return "socket: $!";
    ioctl $socket, $siocsifflags, pack 'a16 s x14', 'lo', $iff_up or return "lo: $!";
    mount_at('/proc/self/ns/net', $path, $ms_bind) or return "mount: $!";
    return;
}

sub add {
    my ($path) = @_;
    share_folder() or return "$folder: $!";
    # O_RDONLY, O_CREAT and O_EXCL: a name that exists is never reused.
    sysopen my $file, $path, 0100 | 0200, 0 or return "$path: $!";
    close $file;
    defined(my $child = fork) or return "fork: $!";
    if (!$child) {
        my $problem = become_namespace($path) // exit 0;
        print STDERR "$problem\n";
        exit 1;
    }
    waitpid $child, 0;
    return if $? == 0;
    unlink $path;
    return 'no namespace';
}

sub remove {
    my ($path) = @_;
    syscall($sys_umount2, my $target = "$path\0", $mnt_detach);
    return unlink($path) ? undef : "$path: $!";
}

$| = 1;
while (my $line = <STDIN>) {
    my ($verb, $name) = $line =~ m{^(add|delete) ([\w.-]+)$} or last;
    my $problem = $verb eq 'add' ? add("$folder/$name") : remove("$folder/$name");
    print $problem // 'done', "\n";
}
