import { readFileSync, writeFileSync } from 'node:fs'
import { runProgram } from '../../src/host/index.ts'

/** What dnsperf saw of one server, and what that server spent meanwhile. */
export interface LoadSeen {
  readonly queriesPerSecond: number
  readonly lost: number
  /** Of the server's own process, user and system. */
  readonly cpuMicrosPerQuery: number
}

export interface LoadTarget {
  readonly address: string
  readonly port: number
  readonly pid: number
}

/** Runs dnsperf against a server with 16 clients and up to 200 queries under way. */
export async function loadServer(target: LoadTarget, queries: readonly string[], seconds: number): Promise<LoadSeen> {
  const file = '/run/bench-queries.txt'
  writeFileSync(file, `${queries.join('\n')}\n`)
  const args = [
    '-s',
    target.address,
    '-p',
    String(target.port),
    '-d',
    file,
    '-l',
    String(seconds),
    '-c',
    '16',
    '-q',
    '200',
  ]
  const before = cpuSeconds(target.pid)
  const { stdout } = await runProgram('dnsperf', args, { timeoutMs: (seconds + 30) * 1000 })
  const spent = cpuSeconds(target.pid) - before
  const completed = Number(/Queries completed:\s+(\d+)/.exec(stdout)?.[1])
  return {
    queriesPerSecond: Number(/Queries per second:\s+([\d.]+)/.exec(stdout)?.[1]),
    lost: Number(/Queries lost:\s+(\d+)/.exec(stdout)?.[1]),
    cpuMicrosPerQuery: (spent / completed) * 1e6,
  }
}

/** proc(5): utime and stime are fields 14 and 15, in ticks of 10 ms; the name before them may hold anything. */
function cpuSeconds(pid: number): number {
  const stat = readProc(pid, 'stat')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) / 100
}

function readProc(pid: number, file: string): string {
  return readFileSync(`/proc/${pid}/${file}`, 'utf8')
}
