// An agent that is killed in the middle: runs one operation on one sandbox and ends itself by SIGKILL before or after the named plugin call.
import { parseArgs } from 'node:util'
import { type Run, runProgram } from '../../../../src/host/index.ts'
import { CniRuntime } from '../../../../src/node/cni/index.ts'
import { silentLogger } from '../../../../src/observe/logger.ts'

const text = { type: 'string', default: '' } as const
const { values } = parseArgs({
  options: {
    node: text,
    config: text,
    cache: text,
    bin: text,
    sandbox: text,
    operation: text,
    point: text,
    call: text,
  },
})
const { node, config: configDir, cache: cacheDir, bin, operation, point } = values
const fatalCall = Number(values.call)

function die(): Promise<never> {
  process.kill(process.pid, 'SIGKILL')
  return new Promise(() => {})
}

let calls = 0
const run: Run = async (file, args, options) => {
  const isVersion = options.env?.['CNI_COMMAND'] === 'VERSION'
  if (!isVersion) calls += 1
  const isFatal = !isVersion && calls === fatalCall
  if (isFatal && point === 'before') return die()
  const result = await runProgram(file, args, { netns: node, ...options })
  return isFatal ? die() : result
}

const runtime = new CniRuntime({ configDir, binDirs: [bin], cacheDir, run, log: silentLogger })
const sandbox = JSON.parse(values.sandbox)
if (operation === 'DEL') await runtime.del(sandbox)
else await runtime.add(sandbox)
