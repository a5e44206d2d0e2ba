import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { type RunningProgram, runProgram } from '../host/index.ts'

const timeoutMs = 5000
const probeTable = 'plt-probe'
/** The table of the agent's DNS, which by design disappears with its process and returns with the next one. */
const dnsTable = 'inet platnet-dns'

/** Counts changes to rules, chains and tables of this namespace by any program (`nft monitor`), except those of the agent's DNS. */
export class RuleMonitor {
  #program: RunningProgram | undefined
  readonly #events: string[] = []

  /** Resolves once it has been seen to see: a table made and removed for that purpose has come by. */
  async start(): Promise<void> {
    this.#program = await runProgram('nft', ['monitor', 'ruleset'], { background: true, stdout: 'pipe' })
    if (this.#program.stdout !== null) {
      createInterface({ input: this.#program.stdout }).on('line', (line) => this.#note(line))
    }
    const deadlineMs = performance.now() + timeoutMs
    while (!this.#events.some((event) => event.startsWith('delete table') && event.includes(probeTable))) {
      if (performance.now() > deadlineMs) throw new Error('nft monitor shows nothing of what happens')
      const commands = `add table ip ${probeTable}\ndelete table ip ${probeTable}\n`
      await runProgram('nft', ['-f', '-'], { input: commands, timeoutMs })
      await sleep(100)
    }
  }

  /** The events since `start`, as nft writes them; what happened just before is waited for. */
  async stop(): Promise<readonly string[]> {
    await sleep(200)
    this.#program?.kill('SIGTERM')
    await this.#program?.exited
    return this.#events.filter((event) => !event.includes(probeTable) && !event.includes(dnsTable))
  }

  #note(line: string): void {
    if (/^(add|create|delete|insert|replace|destroy) (rule|chain|table)\b/.test(line)) this.#events.push(line)
  }
}

/** Every rule of the IPv4 tables, without counters and dates, so that equal texts mean equal rules. */
export async function readRules(): Promise<string> {
  const { stdout } = await runProgram('iptables-save', [], { timeoutMs })
  return stdout.replaceAll(/^#.*\n/gm, '').replaceAll(/\[\d+:\d+\]/g, '')
}
