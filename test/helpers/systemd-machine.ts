// For programs in namespaces of their own (runIsolated): a real systemd that runs the units it is given and nothing of the machine's.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { type RunningProgram, runProgram } from '../../src/host/index.ts'
import { untilAsync } from './until.ts'

const units = '/run/units'
const pidFile = '/run/systemd-machine.pid'
const bootMs = 30_000

/** What every service depends on unless it says otherwise. */
const emptyTargets = ['boot', 'basic', 'sysinit', 'shutdown']

/**
 * The first process of a pid namespace must be systemd. It sees the group it is in as the root of all control groups, and may not write
 * to settings of the kernel that are not of its network.
 */
const prepare = `set -e
read -r pid rest </proc/self/stat
echo "$pid" >${pidFile}
mount -t proc proc /proc
mount --bind /proc/sys /proc/sys
mount --bind /proc/sys/net /proc/sys/net
mount -o remount,ro,bind /proc/sys
umount -l -R /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
exec /lib/systemd/systemd --system --unit=boot.target --log-target=null`

export class SystemdMachine {
  #systemd: RunningProgram | undefined

  /** `group` is an empty control group (version 2) for it and its services. What is written to /etc, /var/lib and /opt/cni is thrown away. */
  async boot(group: string, services: Readonly<Record<string, string>>): Promise<void> {
    for (const folder of [units, '/run/etc/upper', '/run/etc/work']) mkdirSync(folder, { recursive: true })
    const overlay = 'lowerdir=/etc,upperdir=/run/etc/upper,workdir=/run/etc/work'
    await runProgram('mount', ['-t', 'overlay', '-o', overlay, 'overlay', '/etc'], { timeoutMs: bootMs })
    await runProgram('mount', ['-t', 'tmpfs', 'tmpfs', '/var/lib'], { timeoutMs: bootMs })
    for (const name of emptyTargets) writeFileSync(`${units}/${name}.target`, '[Unit]\nDefaultDependencies=no\n')
    for (const [name, text] of Object.entries(services)) writeFileSync(`${units}/${name}`, text)
    const env = { SYSTEMD_UNIT_PATH: units, SYSTEMD_GENERATOR_PATH: '/run/none', container: 'platnet-test' }
    const joinGroup = 'echo 0 >"$1/cgroup.procs"; shift; exec "$@"'
    const namespaces = ['--pid', '--fork', '--kill-child', '--mount', '--cgroup', '--uts']
    const args = ['-c', joinGroup, 'sh', group, 'unshare', ...namespaces, 'sh', '-c', prepare]
    this.#systemd = await runProgram('sh', args, { background: true, env, stdout: 2, stderr: 2 })
    const isUp = () =>
      this.systemctl('is-system-running').then(
        () => true,
        () => false,
      )
    await untilAsync('systemd is up', isUp, bootMs)
  }

  /** Standard output; throws ExecError where systemctl exits other than 0. */
  async systemctl(...args: readonly string[]): Promise<string> {
    const pid = readFileSync(pidFile, 'utf8').trim()
    const inside = ['--target', pid, '--pid', '--mount', '--cgroup', '--uts', '--', 'systemctl', '--no-pager']
    return (await runProgram('nsenter', [...inside, ...args], { timeoutMs: 120_000 })).stdout
  }

  /** The value of one property of a unit. */
  async show(unit: string, property: string): Promise<string> {
    return (await this.systemctl('show', '--value', `--property=${property}`, unit)).trim()
  }

  /** Everything it runs ends with it. */
  async stop(): Promise<void> {
    this.#systemd?.kill('SIGKILL')
    await this.#systemd?.exited
  }
}
