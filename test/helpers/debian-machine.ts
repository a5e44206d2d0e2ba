// For programs in namespaces of their own (runIsolated): a fresh Debian with systemd as its first process, thrown away at the end.
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type RunningProgram, runProgram } from '../../src/host/index.ts'
import { untilAsync } from './until.ts'

const bootMs = 60_000
const makeMs = 900_000
const pidFile = '/run/debian-machine.pid'
const emptyTargets = ['boot', 'basic', 'sysinit', 'shutdown']
const mirror = 'http://deb.debian.org/debian'

/**
 * Makes a Debian of the smallest kind with systemd, once; packages and what they need are downloaded into it and not installed, so that
 * an installation needs no network.
 */
export async function ensureDebianRoot(folder: string, packages: readonly string[]): Promise<void> {
  if (existsSync(folder)) return
  const made = `${folder}.part`
  rmSync(made, { recursive: true, force: true })
  const include = '--include=systemd,systemd-sysv,iproute2'
  await runProgram('debootstrap', ['--variant=minbase', include, 'bookworm', made, mirror], { timeoutMs: makeMs })
  const quiet = ['-y', '-qq', '--no-install-recommends', '--download-only']
  await runProgram('chroot', [made, 'apt-get', 'update', '-qq'], { timeoutMs: makeMs })
  await runProgram('chroot', [made, 'apt-get', 'install', ...quiet, ...packages], { timeoutMs: makeMs })
  renameSync(made, folder)
}

/** The new root has its own /proc, /sys, /run; of the kernel's settings only those of its network can be written. */
const prepare = `set -e
root=$1
read -r pid rest </proc/self/stat
echo "$pid" >${pidFile}
mount -t proc proc "$root/proc"
mount --bind "$root/proc/sys" "$root/proc/sys"
mount --bind "$root/proc/sys/net" "$root/proc/sys/net"
mount -o remount,ro,bind "$root/proc/sys"
mount -t sysfs -o ro sysfs "$root/sys"
mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=0755 tmpfs "$root/run"
exec chroot "$root" /lib/systemd/systemd --system --unit=boot.target --log-target=null`

export class DebianMachine {
  /** Its files as this program sees them, all but those of /run. */
  readonly root = '/run/debian/root'
  #systemd: RunningProgram | undefined

  /** `image` stays as it is; `group` is an empty control group (version 2). */
  async boot(image: string, group: string): Promise<void> {
    for (const name of ['root', 'upper', 'work']) mkdirSync(`/run/debian/${name}`, { recursive: true })
    const overlay = `lowerdir=${image},upperdir=/run/debian/upper,workdir=/run/debian/work`
    await runProgram('mount', ['-t', 'overlay', '-o', overlay, 'overlay', this.root], { timeoutMs: bootMs })
    mkdirSync(join(this.root, 'opt/units'))
    for (const name of emptyTargets)
      writeFileSync(join(this.root, `opt/units/${name}.target`), '[Unit]\nDefaultDependencies=no\n')
    const env = {
      SYSTEMD_UNIT_PATH: '/run/systemd/system.control:/opt/units:/etc/systemd/system:/usr/lib/systemd/system',
      SYSTEMD_GENERATOR_PATH: '/run/none',
      container: 'platnet-test',
    }
    const joinGroup = 'echo 0 >"$1/cgroup.procs"; shift; exec "$@"'
    const namespaces = ['--pid', '--fork', '--kill-child', '--mount', '--cgroup', '--uts']
    const args = ['-c', joinGroup, 'sh', group, 'unshare', ...namespaces, 'sh', '-c', prepare, 'sh', this.root]
    this.#systemd = await runProgram('sh', args, { background: true, env, stdout: 2, stderr: 2 })
    const isUp = () =>
      this.sh('systemctl is-system-running').then(
        () => true,
        () => false,
      )
    await untilAsync('systemd is up', isUp, bootMs)
  }

  /** Runs a shell command on it, without variables but PATH; resolves with standard output. Throws ExecError. */
  async sh(command: string): Promise<string> {
    const inside = [
      '--target',
      readFileSync(pidFile, 'utf8').trim(),
      '--pid',
      '--mount',
      '--cgroup',
      '--uts',
      '--root',
      '--wd',
    ]
    const clean = ['env', '-i', 'PATH=/usr/sbin:/usr/bin:/sbin:/bin', 'DEBIAN_FRONTEND=noninteractive']
    const args = [...inside, '--', ...clean, 'sh', '-c', `cd /; ${command}`]
    return (await runProgram('nsenter', args, { timeoutMs: 300_000, cwd: '/' })).stdout.trim()
  }

  /** Everything it runs ends with it. */
  async stop(): Promise<void> {
    this.#systemd?.kill('SIGKILL')
    await this.#systemd?.exited
  }
}
