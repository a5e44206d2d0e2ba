# Run by confinement.test.ts as the program of a container: tries what a container must not do, and prints a line `NAME RESULT` for each.
# Arguments: a secret file, a socket, a process of the host, then names and numbers of system calls.
use strict;
use warnings;
my ($secret, $socket, $host_pid, %number) = @ARGV;
my %errno = (1 => 'EPERM', 2 => 'ENOENT', 3 => 'ESRCH', 13 => 'EACCES', 20 => 'ENOTDIR', 22 => 'EINVAL', 30 => 'EROFS', 38 => 'ENOSYS');

sub result { my ($name, $is_done) = @_; print "$name ", $is_done ? 'done' : $errno{ $! + 0 } // "$!", "\n" }
sub try_call { my ($name, $call, @args) = @_; result($name, syscall($number{$call} + 0, @args) != -1) }
sub try_read { my ($name, $file) = @_; result($name, open my $handle, '<', $file) }
sub try_write { my ($name, $file) = @_; result($name, open my $handle, '>>', $file) }
sub status { my ($name) = @_; open my $handle, '<', '/proc/self/status'; my ($line) = grep { /^$name:/ } <$handle>; $line =~ s/^\w+:\s*//; chomp $line; return $line }
sub names { my ($folder) = @_; opendir my $handle, $folder or return (); return grep { !/^\.\.?$/ } readdir $handle }

my $zero = "\0" x 128;
my ($path, $other, $type, $none) = ('/tmp', '/mnt', 'tmpfs', '');
$| = 1;
try_read('read-secret', $secret);
try_read('read-shadow', '/etc/shadow');
try_read('read-gshadow', '/etc/gshadow');
try_read('read-host-keys', '/etc/ssh/ssh_host_ed25519_key');
try_read('read-through-proc-1', '/proc/1/root/etc/shadow');
print 'root-folder ', join(',', names('/root')), "\n";
print 'run-folder ', join(',', names('/run')), "\n";
print 'control-groups ', join(',', names('/sys/fs/cgroup')), "\n";
print 'devices ', join(',', sort(names('/dev'))), "\n";
print 'processes ', scalar(grep { /^\d+$/ } names('/proc')), "\n";
print 'open-files ', join(',', sort { $a <=> $b } grep { -e "/proc/self/fd/$_" && readlink("/proc/self/fd/$_") !~ m{^/proc} } names('/proc/self/fd')), "\n";
{ socket my $handle, 1, 1, 0 or die $!; result('connect-socket', connect $handle, pack 'S a108', 1, $socket) }
result('signal-host', kill 0, $host_pid);
try_write('write-usr', '/usr/bin/env');
result('make-in-usr', mkdir '/usr/made');
try_write('write-sysctl', '/proc/sys/kernel/core_pattern');
try_write('write-sysrq', -e '/proc/sysrq-trigger' ? '/proc/sysrq-trigger' : '/proc/sys/kernel/panic');
try_write('write-sys', '/sys/kernel/profiling');
{ open my $handle, '>', '/proc/self/oom_score_adj'; result('escape-oom-killer', defined syswrite $handle, '-1000') }
{ my $bytes = ''; if (open my $memory, '<', '/proc/kcore') { sysread $memory, $bytes, 1 } print 'kernel-memory ', length $bytes, "\n" }
result('make-device', !syscall($number{mknodat} + 0, -100, my $device = '/tmp/device', 0020666, 0x501));
result('raw-socket', socket my $raw, 2, 3, 1);
result('packet-socket', socket my $packet, 17, 3, 0);
result('vsock', socket my $vsock, 40, 1, 0);
try_call('mount', 'mount', $none, $path, $type, 0, $none);
try_call('remount-writable', 'mount', $none, my $usr = '/usr', $none, 0x1020, my $data = '');
try_call('unmount', 'umount2', my $proc = '/proc/sys', 2);
try_call('open-tree', 'open_tree', -100, my $root = '/', 1);
try_call('new-user-namespace', 'unshare', 0x10000000);
try_call('new-mount-namespace', 'unshare', 0x20000);
try_call('clone-user-namespace', 'clone', 0x10000000 | 17, 0, 0, 0, 0);
try_call('clone3', 'clone3', $zero, 64);
try_call('enter-namespace', 'setns', 0, 0);
try_call('load-module', 'init_module', $zero, 128, $none);
try_call('load-module-file', 'finit_module', 0, $none, 0);
try_call('kexec', 'kexec_load', 0, 0, 0, 0);
try_call('reboot', 'reboot', 0xfee1dead, 672274793, 0, 0);
try_call('bpf', 'bpf', 0, $zero, 128);
try_call('performance-counters', 'perf_event_open', $zero, 0, -1, -1, 0);
try_call('keyring', 'keyctl', 0, -3, 0);
try_call('add-key', 'add_key', my $kind = 'user', my $key = 'k', my $value = 'v', 1, -3);
try_call('file-by-handle', 'open_by_handle_at', -100, $zero, 0);
try_call('set-clock', 'settimeofday', $zero, 0);
try_call('host-name', 'sethostname', my $name = 'x', 1);
try_call('swap', 'swapon', $path, 0);
try_call('io-uring', 'io_uring_setup', 1, $zero);
try_call('userfaultfd', 'userfaultfd', 0);
try_call('kernel-log', 'syslog', 3, $zero, 128);
print "$_ ", status($_), "\n" for qw(NoNewPrivs Seccomp CapInh CapPrm CapEff CapBnd CapAmb Uid Gid Groups);
result('write-own', open my $own, '>', '/tmp/file');
result('write-memory', open my $shared, '>', '/dev/shm/file');
result('write-root', mkdir '/made');
result('change-program', chmod 0755, '/proc/self/exe');
# Last: what follows would see another root.
result('chroot', chroot '/tmp');
