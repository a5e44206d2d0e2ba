// The copyright file of the package: our license, and that of every library whose code is in the bundle.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

interface Library {
  readonly name: string
  readonly version: string
  readonly license: string
  readonly text: string
}

const apachePlace = 'The text is in /usr/share/common-licenses/Apache-2.0.'
const apacheText = /Apache License\s+Version 2\.0[\s\S]*?END OF TERMS AND CONDITIONS/g

/** Renders the notices. Debian has the Apache license itself; who owns what, and other notices, stay. Throws for a library that says no license. */
export function copyrightFile(checkout: string, bundled: readonly string[], nodeFolder: string): string {
  const libraries = [...new Set(bundled.map(libraryFolder).filter((name) => name !== undefined))].sort()
  const own = ['Files: *', 'License: Apache-2.0', ` ${apachePlace}`].join('\n')
  const others = libraries.map((folder) => readLibrary(join(checkout, folder)))
  const node = readLibrary(nodeFolder)
  return [own, ...others.map(notice), notice({ ...node, name: 'Node.js (bin/node)' })].join('\n\n').concat('\n')
}

/** `node_modules/a/node_modules/@b/c` of a file below it; undefined for our own. */
function libraryFolder(file: string): string | undefined {
  return /^(?:.*\/)?node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0]
}

function readLibrary(folder: string): Library {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const files = readdirSync(folder).filter((file) => /^(licen[cs]e|copying|notice)/i.test(file))
  const text = files.map((file) => readFileSync(join(folder, file), 'utf8').trim()).join('\n\n')
  if (typeof license !== 'string' && text === '') throw new Error(`${folder}: no license is named`)
  return { name, version, license: String(license ?? 'see below'), text }
}

function notice({ name, version, license, text }: Library): string {
  const lines = text
    .replace(apacheText, apachePlace)
    .split('\n')
    .map((line) => (line.trim() === '' ? ' .' : ` ${line.trimEnd()}`))
  return [`Files: ${name} ${version}`, `License: ${license}`, ...(text === '' ? [] : lines)].join('\n')
}
