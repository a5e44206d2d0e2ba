import type { ChildProcess } from 'node:child_process'
import diagnostics from 'node:diagnostics_channel'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/**
 * Ends the process of a test file that has not ended after its limit, with all that it started, and names on stderr what it runs. `run` of node:test does not: its
 * timeout is one of single tests, and a file whose tests have ended runs on while it has a server open, or a program that it started holds
 * its output.
 */
export function limitFiles(limitMsOf: (path: string) => number, nameOf: (path: string) => string): void {
  diagnostics.subscribe('child_process', (message) => {
    const { process: child } = message as { readonly process: ChildProcess }
    child.once('spawn', () => watch(child, limitMsOf, nameOf))
  })
}

/** `close` comes when the process has ended and nothing holds its output any more: then the next file may start. */
function watch(child: ChildProcess, limitMsOf: (path: string) => number, nameOf: (path: string) => string): void {
  const file = child.spawnargs.find((arg) => arg.endsWith('.test.ts'))
  if (file === undefined || child.pid === undefined) return
  const output = outputOf(child.pid)
  const limitMs = limitMsOf(file)
  const timer = setTimeout(() => {
    const ended = new Set([...descendantsOf(child.pid), ...holdersOf(output)])
    process.stderr.write(
      `${nameOf(file)} has not ended after ${limitMs / 1000} s and is ended, with ${listNames(ended)}\n`,
    )
    for (const pid of ended) kill(pid)
  }, limitMs)
  child.once('close', () => clearTimeout(timer))
}

function listPids(): number[] {
  return readdirSync('/proc').map(Number).filter(Number.isInteger)
}

/** The process, its children, theirs and so on. */
function descendantsOf(pid: number | undefined): Set<number> {
  const parents = new Map(listPids().map((each) => [each, parentOf(each)]))
  const found = new Set(pid === undefined || parents.get(pid) !== process.pid ? [] : [pid])
  // A set is iterated with what is added meanwhile.
  for (const parent of found) for (const [each, its] of parents) if (its === parent) found.add(each)
  return found
}

function parentOf(pid: number): number | undefined {
  const stat = readProc(() => readFileSync(`/proc/${pid}/stat`, 'utf8'))
  // The name in brackets may hold anything (proc(5)).
  return stat === undefined ? undefined : Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1])
}

function outputOf(pid: number): string | undefined {
  return readProc(() => readlinkSync(`/proc/${pid}/fd/1`))
}

/** A program may outlive the file that started it and hold its output: it has another parent then. */
function holdersOf(output: string | undefined): number[] {
  if (output === undefined) return []
  return listPids().filter((pid) => {
    const descriptors = readProc(() => readdirSync(`/proc/${pid}/fd`)) ?? []
    return descriptors.some((fd) => readProc(() => readlinkSync(`/proc/${pid}/fd/${fd}`)) === output)
  })
}

function listNames(pids: ReadonlySet<number>): string {
  const names = Array.from(pids, (pid) => readProc(() => readFileSync(`/proc/${pid}/comm`, 'utf8').trim()) ?? 'none')
  return Array.from(pids, (pid, index) => `${names[index]} (${pid})`).join(', ')
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended meanwhile.
  }
}

/** Undefined for a process that has ended meanwhile. */
function readProc<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
