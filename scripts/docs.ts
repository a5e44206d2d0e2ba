// Writes the generated parts of the documentation: `npm run docs`. With `--check` it only reports whether they are stale.
import { readFileSync, writeFileSync } from 'node:fs'
import { metricGroups } from '../src/app/metric-groups.ts'
import { optionGroups } from '../src/app/option-groups.ts'
import { optionsTable } from '../src/config/index.ts'
import { metricsTable } from '../src/observe/index.ts'

/** The generated part of each document stands between `<!-- NAME:begin -->` and `<!-- NAME:end -->`. */
const sections = [
  { document: 'docs/options.md', name: 'options', text: optionsTable(optionGroups) },
  { document: 'docs/metrics.md', name: 'metrics', text: metricsTable(metricGroups) },
] as const

type Section = (typeof sections)[number]

/** Replaces the text between the markers. Throws where a marker is missing. */
function withSection(before: string, { document, name, text }: Section): string {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`]
  const from = before.indexOf(begin)
  const to = before.indexOf(end)
  if (from === -1 || to < from) throw new Error(`${document}: expected ${begin} and, after it, ${end}`)
  return `${before.slice(0, from + begin.length)}\n${text}${before.slice(to)}`
}

function update(section: Section, isCheck: boolean): void {
  const { document, name } = section
  const file = new URL(`../${document}`, import.meta.url)
  const before = readFileSync(file, 'utf8')
  const after = withSection(before, section)
  if (before === after) {
    console.log(`${document}: the table of ${name} is up to date`)
  } else if (isCheck) {
    console.error(`${document}: the table of ${name} is stale; \`npm run docs\` rewrites it`)
    process.exitCode = 1
  } else {
    writeFileSync(file, after)
    console.log(`${document}: the table of ${name} was rewritten`)
  }
}

for (const section of sections) update(section, process.argv.includes('--check'))
