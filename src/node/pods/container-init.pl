#!/usr/bin/perl -w
# Creates a container from the file `launch` in FOLDER (launch-file.ts) and becomes the program of the container:
#   start FOLDER                        a new container; writes its pid and start time to FOLDER/pid when its mounts are complete
#   exec FOLDER PID TICKS COMMAND …     another program in the container with this first process
# `inside` and `beside` are their second parts. A container could use /proc/self/exe as its program and write to it (CVE-2019-5736), so this
# program executes itself again from a read-only mount before it enters a container. After that it loads no file and follows no link that a
# container could have created.
use strict;

my ($clone_newns, $clone_newuts, $clone_newipc, $clone_newpid, $clone_newnet) =
    (0x20000, 0x4000000, 0x8000000, 0x20000000, 0x40000000);
my ($ms_rdonly, $ms_nosuid, $ms_nodev, $ms_noexec, $ms_bind, $ms_move, $ms_rec, $ms_private) =
    (1, 2, 4, 8, 0x1000, 0x2000, 0x4000, 0x40000);
my ($attr_rdonly, $attr_nosuid, $attr_nodev, $attr_noexec) = (1, 2, 4, 8);
my ($at_fdcwd, $at_recursive, $mnt_detach) = (-100, 0x8000, 2);
my ($o_path, $o_cloexec) = (0x200000, 0x80000);
my ($open_tree_clone, $at_empty_path) = (1, 0x1000);
# MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_SYMLINKS: the source is a descriptor, the target can be a link.
my $move_mount_flags = 4 | 0x10;
my $all_fds = 0x7fffffff;
my $not_there = 2;
my $invalid = 22;
# The exit code if the container could not be created; runc uses the same one.
my $failure = 128;

my ($verb, $folder, @rest) = @ARGV;
my %plan = read_plan("$folder/launch");
my %number = @{ $plan{numbers} };
my ($view, $stage) = ("$folder/view", "$folder/stage");
# Handles that stay open while their paths in /proc/self/fd are used.
my @held;

sub fail {
    my ($what) = @_;
    print STDERR "platnet: $what: $!\n";
    exit $failure;
}

sub read_plan {
    my ($file) = @_;
    open my $handle, '<:raw', $file or fail($file);
    local $/;
    my @words = split /\0/, <$handle>, -1;
    my %found;
    while (@words > 1) {
        my ($key, $count) = splice @words, 0, 2;
        $found{$key} = [splice @words, 0, $count];
    }
    return %found;
}

sub one { return $plan{ $_[0] }[0] // '' }

# Copies the arguments, because syscall requires writable strings.
sub call {
    my ($name, @args) = @_;
    return syscall($number{$name} + 0, @args);
}

sub must { call(@_) == -1 ? fail($_[0]) : return }

sub mount_at {
    my ($source, $target, $type, $flags, $data) = @_;
    call('mount', "$source", "$target", "$type", $flags, "$data") == 0 or fail("mount $target");
    return;
}

sub set_mount {
    my ($path, $flags, $set, $clear) = @_;
    my $attributes = pack 'Q4', $set, $clear // 0, 0, 0;
    call('mount_setattr', $at_fdcwd, "$path", $flags, $attributes, length $attributes) == 0 or fail("mount_setattr $path");
    return;
}

# Returns a detached mount of a path.
sub copy_mount {
    my ($path, $set) = @_;
    my $fd = call('open_tree', $at_fdcwd, "$path", $open_tree_clone | $o_cloexec);
    $fd >= 0 or fail("open_tree $path");
    my $attributes = pack 'Q4', $set, 0, 0, 0;
    call('mount_setattr', $fd, '', $at_empty_path, $attributes, length $attributes) == 0 or fail("mount_setattr $path");
    return $fd;
}

sub write_file {
    my ($file, $text) = @_;
    open my $handle, '>', $file or fail($file);
    (syswrite $handle, $text) // fail($file);
    close $handle;
    return;
}

sub make_file {
    my ($file) = @_;
    return if -e $file;
    sysopen my $handle, $file, 0101, 0644 or fail($file);
    close $handle;
    return;
}

sub make_folders {
    my ($path) = @_;
    my $at = '';
    for my $name (grep { $_ ne '' } split m{/}, $path) {
        $at .= "/$name";
        next if mkdir $at, 0755;
        my $why = $! + 0;
        next if -d $at;
        $! = $why;
        fail("mkdir $at");
    }
    return;
}

sub start_ticks {
    my ($pid) = @_;
    open my $handle, '<', "/proc/$pid/stat" or return '';
    my $stat = <$handle> // '';
    $stat =~ s/^.*\) //s;
    return (split / /, $stat)[19] // '';
}

# Resets umask and OOM score, which a service manager sets for the agent.
sub reset_process {
    umask 022;
    open my $handle, '>', '/proc/self/oom_score_adj' or return;
    syswrite $handle, '0';
    close $handle;
    return;
}

# Leaves the host's namespaces and makes every mount read-only, so that no path leads to a writable file of the host.
sub leave_host {
    must('unshare', $clone_newns | $clone_newuts | $clone_newipc);
    mount_at('', '/', '', $ms_rec | $ms_private, '');
    set_mount('/', $at_recursive, $attr_rdonly);
    return;
}

sub exec_self {
    my ($next, @more) = @_;
    exec $^X, '-w', $0, $next, $folder, @more or fail("exec $^X");
}

# Executes this program again from a read-only mount of its interpreter. A mount namespace for each probe would cost more than the probe.
sub exec_self_readonly {
    my ($next, @more) = @_;
    my $fd = copy_mount($^X, $attr_rdonly);
    exec { "/proc/self/fd/$fd" } $^X, '-w', $0, $next, $folder, @more or fail("exec $^X");
}

sub keep_open {
    my ($handle) = @_;
    fcntl $handle, 2, 0 or fail('fcntl');
    return fileno $handle;
}

sub wait_for {
    my ($child) = @_;
    waitpid $child, 0;
    exit($? & 127 ? 128 + ($? & 127) : $? >> 8);
}

sub start {
    for ($view, $stage) { mkdir $_, 0700 or -d $_ or fail("mkdir $_") }
    if (one('netns') ne '') {
        sysopen my $netns, one('netns'), 0 or fail(one('netns'));
        must('setns', fileno $netns, $clone_newnet);
    }
    must('unshare', $clone_newpid);
    pipe my $ready, my $tell or fail('pipe');
    defined(my $child = fork) or fail('fork');
    if (!$child) {
        close $ready;
        reset_process();
        leave_host();
        end_with_parent();
        exec_self('inside', keep_open($tell));
    }
    close $tell;
    $SIG{$_} = 'IGNORE' for qw(HUP INT TERM);
    # The pid is published only now, so that no probe enters the container while it still sees the host.
    if (sysread $ready, my $word, 1) {
        write_file("$folder/pid.new", "$child " . start_ticks($child) . "\n");
        rename "$folder/pid.new", "$folder/pid" or fail("$folder/pid");
    }
    wait_for($child);
}

sub inside {
    my ($tell) = @_;
    mount_at('tmpfs', $stage, 'tmpfs', $ms_nosuid | $ms_nodev, 'mode=700,size=64k');
    one('root') eq '' ? make_host_view() : make_root_view();
    put(make_dev(), 'dev');
    put(make_proc(), 'proc');
    put(make_sys(), 'sys');
    my @files = @{ $plan{files} };
    while (my ($source, $target) = splice @files, 0, 2) { mount_at($source, place($target, 0), '', $ms_bind, '') }
    my @volumes = @{ $plan{volumes} // [] };
    $_ % 2 or $volumes[$_] = copy_mount($volumes[$_], $attr_rdonly | $attr_nosuid | $attr_nodev) for 0 .. $#volumes;
    chdir $view or fail("chdir $view");
    must('pivot_root', my $new = '.', my $old = '.');
    must('umount2', my $host = '.', $mnt_detach);
    chdir '/' or fail('chdir /');
    while (my ($volume, $target) = splice @volumes, 0, 2) { attach($volume, $target) }
    make_folders(one('workdir'));
    set_mount('/', 0, $attr_rdonly) if one('readonly');
    my $name = one('hostname');
    must('sethostname', $name, length $name) if $name ne '';
    become(sub { open my $handle, '>&=', $tell or fail('pipe'); syswrite $handle, '1' }, @{ $plan{command} });
}

# Creates a root in memory with the permitted paths of the host.
sub make_host_view {
    mount_at('tmpfs', $view, 'tmpfs', $ms_nosuid | $ms_nodev, 'mode=755,' . one('scratch'));
    my @folders = @{ $plan{folders} };
    while (my ($path, $mode) = splice @folders, 0, 2) {
        make_folders("$view$path");
        chmod oct $mode, "$view$path" or fail("chmod $path");
    }
    my @links = @{ $plan{links} };
    while (my ($path, $to) = splice @links, 0, 2) { symlink $to, "$view$path" or fail("link $path") }
    for my $path (@{ $plan{shown} }) {
        my ($parent) = $path =~ m{^(.*)/};
        make_folders(-d $path ? "$view$path" : "$view$parent");
        make_file("$view$path") if !-d $path;
        mount_at($path, "$view$path", '', $ms_bind | $ms_rec, '');
    }
    set_mount($view, $at_recursive, $attr_nosuid | $attr_nodev);
    cover("$view$_") for @{ $plan{hidden} };
    return;
}

sub make_root_view {
    # The last name must not be a link; the operator's folder above it is trusted.
    sysopen my $root, one('root'), $o_path | one('nofollow') or fail(one('root'));
    my $path = '/proc/self/fd/' . fileno $root;
    $! = 20;
    -d $path or fail(one('root'));
    mount_at($path, $view, '', $ms_bind, '');
    set_mount($view, 0, $attr_nosuid | $attr_nodev, $attr_rdonly);
    return;
}

# Mounts an empty file or folder over an existing path.
sub cover {
    my ($path) = @_;
    return if !-e $path;
    return mount_at('/dev/null', $path, '', $ms_bind, '') if !-d $path;
    mount_at('tmpfs', $path, 'tmpfs', $ms_rdonly | $ms_nosuid | $ms_nodev | $ms_noexec, 'mode=755,size=4k');
    return;
}

sub make_dev {
    my $dev = "$stage/dev";
    mkdir $dev;
    mount_at('tmpfs', $dev, 'tmpfs', $ms_nosuid | $ms_noexec, 'mode=755,size=64k');
    for my $name (grep { -e "/dev/$_" } qw(null zero full random urandom tty)) {
        make_file("$dev/$name");
        mount_at("/dev/$name", "$dev/$name", '', $ms_bind, '');
    }
    mkdir "$dev/$_" for qw(pts shm mqueue);
    my $plain = $ms_nosuid | $ms_noexec;
    mount_at('devpts', "$dev/pts", 'devpts', $plain, 'newinstance,ptmxmode=0666,mode=0620,gid=5');
    mount_at('tmpfs', "$dev/shm", 'tmpfs', $plain | $ms_nodev, 'mode=1777,size=64m');
    # Some kernels do not have mqueue, so its failure is ignored.
    call('mount', my $source = 'mqueue', my $target = "$dev/mqueue", my $type = 'mqueue', $plain | $ms_nodev, my $data = '');
    my %links = (ptmx => 'pts/ptmx', fd => '/proc/self/fd', stdin => 'fd/0', stdout => 'fd/1', stderr => 'fd/2');
    symlink $links{$_}, "$dev/$_" or fail("link $_") for keys %links;
    return $dev;
}

sub make_proc {
    my $proc = "$stage/proc";
    mkdir $proc;
    mount_at('proc', $proc, 'proc', $ms_nosuid | $ms_nodev | $ms_noexec, '');
    cover("$proc/$_")
        for qw(acpi asound kcore keys kmsg latency_stats timer_list timer_stats sched_debug scsi);
    for my $path (grep { -e $_ } map { "$proc/$_" } qw(bus fs irq sys sysrq-trigger)) {
        mount_at($path, $path, '', $ms_bind, '');
        set_mount($path, 0, $attr_rdonly | $attr_nosuid | $attr_nodev | $attr_noexec);
    }
    return $proc;
}

# With the host's network it is the host's /sys. Neither has control groups.
sub make_sys {
    my $sys = "$stage/sys";
    mkdir $sys;
    my $flags = $ms_rdonly | $ms_nosuid | $ms_nodev | $ms_noexec;
    one('netns') eq '' ? mount_at('/sys', $sys, '', $ms_bind, '') : mount_at('sysfs', $sys, 'sysfs', $flags, '');
    cover("$sys/$_") for qw(firmware devices/virtual/powercap);
    return $sys;
}

# Mounts a volume after pivot_root, so that links on the path stay in the container's root.
sub attach {
    my ($volume, $target) = @_;
    make_folders($target);
    call('move_mount', $volume, '', $at_fdcwd, "$target", $move_mount_flags) == 0 or fail("mount $target");
    return;
}

# Returns the path of a folder or file in the view. Creates what is missing and follows no link.
sub place {
    my ($path, $is_folder) = @_;
    my ($at, @names) = ($view, grep { $_ ne '' } split m{/}, $path);
    while (defined(my $name = shift @names)) {
        my $is_last_file = !@names && !$is_folder;
        if ($is_last_file) {
            sysopen my $new, "$at/$name", 0301 | one('nofollow'), 0644;
        }
        else { mkdir "$at/$name", 0755 }
        sysopen my $handle, "$at/$name", $o_path | one('nofollow') or fail($path);
        push @held, $handle;
        $at = '/proc/self/fd/' . fileno $handle;
        # O_PATH with O_NOFOLLOW opens a link itself, so this check refuses it.
        next if $is_last_file ? -f $at : -d $at;
        $! = 20;
        fail("the root filesystem's $path");
    }
    return $at;
}

sub put {
    my ($source, $name) = @_;
    mount_at($source, place("/$name", 1), '', $ms_move, '');
    return;
}

# Drops every right that the container must not have, calls `$last` and executes the program.
sub become {
    my ($last, @command) = @_;
    chdir one('workdir') or fail(one('workdir'));
    call('keyctl', 1, 0);
    my %keep = map { $_ => 1 } @{ $plan{capabilities} };
    for my $capability (0 .. 63) {
        next if $keep{$capability} || call('prctl', 24, $capability, 0, 0, 0) == 0;
        $! == $invalid ? last : fail('prctl');
    }
    call('prctl', 47, 4, 0, 0, 0);
    must('prctl', 38, 1, 0, 0, 0) if one('nonewprivileges');
    filter_calls(pack 'H*', one('filter'));
    become_user();
    limit_capabilities(keys %keep);
    end_with_parent();
    must('close_range', 3, $all_fds, 4);
    $last->();
    $SIG{$_} = 'DEFAULT' for qw(HUP INT TERM PIPE);
    %ENV = map { split /=/, $_, 2 } @{ $plan{env} };
    # Suppresses Perl's own warning, which would be in the log.
    $^W = 0;
    { exec { $command[0] } @command }
    my $code = $! == $not_there ? 127 : 126;
    print STDERR "platnet: $command[0]: $!\n";
    exit $code;
}

sub filter_calls {
    my ($filter) = @_;
    my $program = pack 'S x6 P', length($filter) / 8, $filter;
    must('seccomp', 1, 0, $program);
    return;
}

sub become_user {
    my ($uid, $gid, @groups) = (one('uid') + 0, one('gid') + 0, @{ $plan{groups} });
    must('setgroups', scalar @groups, pack 'L*', @groups);
    must('setresgid', $gid, $gid, $gid);
    must('setresuid', $uid, $uid, $uid);
    return;
}

# Limits the capabilities to the given ones that this process has: a service manager can have taken some from the agent.
sub limit_capabilities {
    my ($low, $high) = (0, 0);
    for (@_) { $_ < 32 ? ($low |= 1 << $_) : ($high |= 1 << $_ - 32) }
    my ($header, $held) = (pack('L2', 0x20080522, 0), pack 'L6', (0) x 6);
    # `call` would give the kernel a copy to write to.
    syscall($number{capget} + 0, $header, $held) == 0 or fail('capget');
    my (undef, $own_low, undef, undef, $own_high) = unpack 'L6', $held;
    ($low, $high) = ($low & $own_low, $high & $own_high);
    must('capset', $header, pack 'L6', $low, $low, 0, $high, $high, 0);
    return;
}

# PR_SET_PDEATHSIG. A change of the user resets it, so it is set again after that.
sub end_with_parent { must('prctl', 1, 9, 0, 0, 0) }

sub exec_outside {
    my ($pid, $ticks, @command) = @rest;
    my @namespaces = map { sysopen my $handle, "/proc/$pid/ns/$_", 0 or fail('the container has ended'); $handle } qw(ipc uts net pid mnt);
    $! = 0;
    start_ticks($pid) eq $ticks or fail('the container has ended');
    write_file("$_/cgroup.procs", '0') for @{ $plan{cgroups} };
    reset_process();
    exec_self_readonly('beside', (map { keep_open($_) } @namespaces), @command);
}

sub beside {
    my ($ipc, $uts, $net, $pid, $mnt, @command) = @rest;
    # PR_SET_DUMPABLE 0: processes of the container must not read this process, which still has access to the host.
    must('prctl', 4, 0, 0, 0, 0);
    # A service manager that restricts namespaces requires the type of each namespace.
    must('setns', $ipc + 0, $clone_newipc);
    must('setns', $uts + 0, $clone_newuts);
    must('setns', $net + 0, $clone_newnet);
    must('setns', $pid + 0, $clone_newpid);
    defined(my $child = fork) or fail('fork');
    wait_for($child) if $child;
    must('setns', $mnt + 0, $clone_newns);
    become(sub {}, @command);
}

my %verbs = (start => \&start, inside => sub { inside(@rest) }, exec => \&exec_outside, beside => \&beside);
($verbs{$verb} // sub { $! = $invalid; fail("$verb") })->();
