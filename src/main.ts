#!/usr/bin/env node
import { endOutput } from './cli/end-output.ts'
import { runCli } from './cli/run-cli.ts'

const flushed = endOutput(process)
const code = await runCli(process.argv, process)
await flushed()
process.exit(code)
