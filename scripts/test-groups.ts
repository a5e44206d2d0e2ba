import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'

const folder = '.cache/test-groups'

/** How many files of a level share a process at most: three quarters of what one file costs are the start of its process and the modules it imports. */
const filesPerProcess: Readonly<Record<string, number>> = {
  architecture: 100,
  component: 20,
  docs: 100,
  golden: 100,
  property: 28,
  unit: 75,
}

/** Files that measure their process: its memory, its open files or what it has loaded; and tests of this script, which run for long. */
const ownProcess = [
  /(^|\/)test\/component\/api\/(large-writes|object-size)\.test\.ts$/,
  /(^|\/)test\/component\/client\/list-pages\.test\.ts$/,
  /(^|\/)test\/component\/host\/fast-run\.test\.ts$/,
  /(^|\/)test\/component\/node\/state\/sources\.test\.ts$/,
  /(^|\/)test\/component\/observe\/otlp\.test\.ts$/,
  /(^|\/)test\/component\/scripts\/test-run\.test\.ts$/,
]

/** A hook outside a `describe` is one of all tests of the process. */
const hookOfProcess = /^(before|after|beforeEach|afterEach)\(/m

/** `kernel` of `…/test/kernel/host/netns.test.ts`. */
export function levelOf(file: string): string {
  return /(?:^|\/)test\/([^/]+)\//.exec(file)?.[1] ?? 'other'
}

/** What runs in one process: a test file, or a file that imports several of one level. */
export interface TestProcess {
  readonly path: string
  readonly files: readonly string[]
}

/** A process for each file. */
export function eachAlone(files: readonly string[]): readonly TestProcess[] {
  return files.map((file) => ({ path: file, files: [file] }))
}

/** Groups files that may share a process, neighbours in the order given, and writes a file for each group that imports them. */
export function groupFiles(files: readonly string[]): readonly TestProcess[] {
  rmSync(folder, { recursive: true, force: true })
  const processes: TestProcess[] = []
  const open = new Map<string, string[]>()
  for (const file of files) {
    const level = levelOf(file)
    const most = filesPerProcess[level] ?? 1
    if (most === 1 || needsOwnProcess(file)) {
      processes.push(...eachAlone([file]))
      continue
    }
    const group = open.get(level)
    if (group !== undefined && group.length < most) group.push(file)
    else {
      const started = [file]
      open.set(level, started)
      processes.push({ path: groupPath(level, processes.length + 1), files: started })
    }
  }
  for (const { path, files: imported } of processes) if (path.startsWith(folder)) writeGroup(path, imported)
  return processes
}

function needsOwnProcess(file: string): boolean {
  return ownProcess.some((pattern) => pattern.test(file)) || hookOfProcess.test(readFileSync(file, 'utf8'))
}

/** The path names the level as that of a test file does, for what looks at paths (`test/helpers/refuse-servers.ts`). */
function groupPath(level: string, number: number): string {
  return `${folder}/test/${level}/${number}.test.ts`
}

/** All modules are read before the first test starts, so that no test waits while another file is read. */
function writeGroup(path: string, files: readonly string[]): void {
  mkdirSync(resolve(path, '..'), { recursive: true })
  writeFileSync(path, files.map((file) => `import ${JSON.stringify(resolve(file))}\n`).join(''))
}
