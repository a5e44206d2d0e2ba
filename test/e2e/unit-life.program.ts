// Run by unit-life.test.ts in namespaces of its own: `platnet run` as systemd runs it, from READY to cleanup.
// Prints what was seen as one line of JSON; the test judges it.

import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { runProgram, startProgram } from '../../src/host/index.ts'
import { until } from '../helpers/until.ts'

const notifySocket = '/run/notify.sock'
const main = path.resolve(import.meta.dirname, '../../src/main.ts')
const cni = ['--cni-conf-dir', '/run/platnet-test/net.d', '--cni-cache-dir', '/run/platnet-test/cni']
const places = ['--data-dir', '/run/platnet-test', '--control-socket', '/run/platnet-test/control.sock', ...cni]

/** systemd's end of the notify socket; Node cannot listen on unix datagrams. */
const listenScript = `
  socket(my $socket, PF_UNIX, SOCK_DGRAM, 0); bind($socket, sockaddr_un($ARGV[0])); $| = 1; print "listening\\n";
  while (defined recv($socket, my $message, 4096, 0)) { print join(" ", split(/\\n/, $message)), "\\n" }`

async function listen(): Promise<readonly string[]> {
  const messages: string[] = []
  const listener = await startProgram('perl', ['-MSocket', '-e', listenScript, notifySocket], { stdout: 'pipe' })
  if (listener.stdout) createInterface({ input: listener.stdout }).on('line', (line) => messages.push(line))
  await until('the notify socket is there', () => messages.includes('listening'))
  return messages
}

async function ourRules(): Promise<number> {
  const { stdout } = await runProgram('iptables-save', [], { timeoutMs: 5000 })
  return stdout.split('\n').filter((line) => line.includes('PLAT-')).length
}

async function platnet(...args: string[]): Promise<string> {
  const { stdout } = await runProgram(process.execPath, [main, ...args], { timeoutMs: 20_000 })
  return stdout
}

const messages = await listen()
await runProgram('iptables', ['-A', 'INPUT', '-s', '192.0.2.99', '-j', 'DROP'], { timeoutMs: 5000 })
const foreign = (await runProgram('iptables-save', [], { timeoutMs: 5000 })).stdout
const daemon = await startProgram(process.execPath, [main, 'run', ...places], {
  env: { NOTIFY_SOCKET: notifySocket },
  stdout: 'ignore',
})
const rulesBeforeReady = messages.some((message) => message.startsWith('READY')) ? -1 : await ourRules()
await until('READY has come', () => messages.some((message) => message.startsWith('READY=1')), 20_000)
const rulesAtReady = await ourRules()
daemon.kill('SIGTERM')
const { exitCode } = await daemon.exited
await sleep(100)
const rulesAfterStop = await ourRules()
const cleaned = await platnet('cleanup', '--yes')
const rulesAfterCleanup = await ourRules()
const cleanedAgain = await platnet('cleanup', '--yes')
const withoutCounters = (text: string) => text.replaceAll(/^#.*\n|\[\d+:\d+\]/gm, '')
const left = withoutCounters((await runProgram('iptables-save', [], { timeoutMs: 5000 })).stdout)
const foreignKept = left.includes('-s 192.0.2.99/32 -j DROP') && withoutCounters(foreign).includes('192.0.2.99/32')

process.stdout.write(
  `${JSON.stringify({ messages, rulesBeforeReady, rulesAtReady, exitCode, rulesAfterStop, cleaned, rulesAfterCleanup, cleanedAgain, foreignKept })}\n`,
)
process.exit(0)
