// A virtual machine with another kernel and without a network: `node test/long/kernels/machine.ts SUITE COMMAND` runs a line of sh in a copy of this
// checkout there.
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { runProgram } from '../../../src/host/index.ts'

const checkout = resolve(import.meta.dirname, '../../..')
const built = join(checkout, '.cache/kernels')
/** The files of the machine stand in its memory, once packed and once unpacked. */
const memoryMiB = 3_072
/** An instruction takes two nanoseconds of the machine's time: what else this machine does changes nothing that a test of time sees. */
const clock = 'shift=1,sleep=off'
const lastLine = /^ended with exit code (\d+)\r?$/m

const pack = `set -e
cd "$1"
for name in package.json tsconfig.json src test scripts cni systemd node_modules .cache/compiled; do
  [ -e "$name" ] && find "$name" \\( -path '*/@biomejs' -o -path '*/@typescript' -o -path '*/@esbuild' -o -path '*/@oxc-parser' \\
    -o -path '*/playwright-core' -o -path '*/knip' -o -path '*/node-linux-*/include' -o -name '*.d.ts' -o -name '*.map' \\) -prune -o -print
done | sed 's,^,platnet/,' >"$2/list"
ln -s "$1" "$2/platnet"
mkdir -p "$2/first/platnet/.cache"
(cd "$2/first" && find . | cpio --quiet -o -H newc) >"$2/first.cpio"
(cd "$2" && cpio --quiet -o -H newc <list >checkout.cpio && echo run-tests | cpio --quiet -o -H newc >last.cpio)
cat "$3/root.cpio" "$3/$4/modules.cpio" "$2/first.cpio" "$2/checkout.cpio" "$2/last.cpio" >"$2/initrd"
rm "$2"/*.cpio`

export interface MachineEnd {
  /** Of the command; undefined where the machine ended without saying so. */
  readonly exitCode: number | undefined
  readonly output: string
}

/** Why there is no such machine here; false where there is one. The shape of `TestOptions.skip`. */
export function lackOfKernel(suite: string): string | false {
  if (process.arch !== 'x64') return 'the kernels are for x64'
  const isThere = (program: string) => ['/usr/bin', '/bin'].some((folder) => existsSync(join(folder, program)))
  const missing = ['qemu-system-x86_64', 'cpio'].filter((program) => !isThere(program))
  if (missing.length > 0) return `needs ${missing.join(', ')}: apt-get install qemu-system-x86 cpio`
  return !existsSync(join(built, suite, 'modules.cpio')) && `no kernel of ${suite}: sh test/long/kernels/build.sh`
}

/** Boots a kernel of a suite of Debian, runs a command of sh in a copy of this checkout and ends the machine. */
export async function runOnKernel(suite: string, command: string, signal: AbortSignal): Promise<MachineEnd> {
  const folder = mkdtempSync(join(tmpdir(), 'platnet-kernel-'))
  try {
    writeFileSync(join(folder, 'run-tests'), `${command}\n`)
    await runProgram('sh', ['-c', pack, 'sh', checkout, folder, built, suite], { timeoutMs: 300_000 })
    const output = await boot(join(built, suite, 'vmlinuz'), join(folder, 'initrd'), signal)
    const [, exitCode] = lastLine.exec(output) ?? []
    return { exitCode: exitCode === undefined ? undefined : Number(exitCode), output }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function boot(kernel: string, initrd: string, signal: AbortSignal): Promise<string> {
  const emulation = ['-accel', 'tcg', '-icount', clock, '-cpu', 'max', '-m', String(memoryMiB)]
  const devices = ['-nodefaults', '-nographic', '-nic', 'none', '-serial', 'stdio', '-no-reboot']
  const arguments_ = ['-kernel', kernel, '-initrd', initrd, '-append', 'console=ttyS0 panic=-1 quiet mitigations=off']
  const machine = await runProgram('qemu-system-x86_64', [...emulation, ...devices, ...arguments_], {
    background: true,
    stdout: 'pipe',
    stderr: 'inherit',
  })
  const stop = () => machine.kill('SIGKILL')
  signal.addEventListener('abort', stop, { once: true })
  if (signal.aborted) stop()
  const output = machine.stdout === null ? '' : await text(machine.stdout)
  await machine.exited
  signal.removeEventListener('abort', stop)
  return output
}

/** Suites whose kernels are built. */
function builtSuites(): readonly string[] {
  return existsSync(built) ? readdirSync(built).filter((name) => existsSync(join(built, name, 'modules.cpio'))) : []
}

if (import.meta.main) {
  const [suite = '', command = 'sh test/long/kernels/features.sh'] = process.argv.slice(2)
  const lack = lackOfKernel(suite)
  if (lack) process.stdout.write(`${lack}\nbuilt: ${builtSuites().join(', ')}\n`)
  else process.stdout.write((await runOnKernel(suite, command, AbortSignal.timeout(3_600_000))).output)
}
