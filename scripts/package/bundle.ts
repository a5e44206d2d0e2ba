// Bundles the program for the package: fewer files start in half the time and with a fifth less memory than one file a module.
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { build, type Metafile, type Plugin } from 'esbuild'

/** Modules that the program starts by path: processes and threads of their own. */
const threads = [
  'src/node/dns/threads/serving-thread.ts',
  'src/api/decode/yaml-worker.ts',
  'src/api/store/sqlite-worker.ts',
]

export interface Bundle {
  /** Text of each output by its path below the package's folder. */
  readonly outputs: ReadonlyMap<string, string>
  /** Files of the checkout that went into it, `node_modules` included. */
  readonly inputs: readonly string[]
  /** What each output loads: outputs, by `import` or by path. */
  readonly loads: ReadonlyMap<string, readonly string[]>
}

/** Bundles `src/main.ts` and whatever it starts by path. Throws where a module names a file by path that the package has not. */
export async function bundleProgram(checkout: string): Promise<Bundle> {
  const programs = globSync('src/**/*.program.ts', { cwd: checkout })
  const entries = ['src/main.ts', ...threads, ...programs].sort()
  const { outputFiles, metafile } = await build({
    absWorkingDir: checkout,
    entryPoints: entries,
    outbase: checkout,
    outdir: join(checkout, 'out'),
    chunkNames: 'lib/[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node26',
    alias: bundledForms(checkout),
    // Names stay: error classes are shown by theirs.
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: 'none',
    write: false,
    metafile: true,
    plugins: [placesInPackage(checkout, entries), withoutLocales, withoutFetch],
  })
  const out = join(checkout, 'out')
  const texts = outputFiles.map((file) => [relative(out, file.path), file.text] as const)
  const outputs = new Map(texts.map(([name, text]) => [name, withPreamble(name, text)]))
  return { outputs, inputs: Object.keys(metafile.inputs).sort(), loads: loadsOf(metafile, outputs) }
}

/**
 * The forms of libraries that a bundle can hold: of the first one the CommonJS form loses names, of the second one the module form loads
 * another library by a `require` that esbuild does not follow.
 */
function bundledForms(checkout: string): Readonly<Record<string, string>> {
  const folder = join(checkout, 'node_modules')
  return {
    '@peculiar/x509': join(folder, '@peculiar/x509/build/x509.es.js'),
    '@opentelemetry/otlp-grpc-exporter-base': join(folder, '@opentelemetry/otlp-grpc-exporter-base/dist/index.cjs'),
  }
}

/** Leaves out zod's messages in forty languages, which its entry names and this program never shows: 6 MiB of each process. */
const withoutLocales: Plugin = {
  name: 'without locales',
  setup: ({ onLoad }) =>
    onLoad({ filter: /[\\/]zod[\\/]v4[\\/]locales[\\/]index\.js$/ }, () => ({ contents: 'export {}' })),
}

/**
 * Leaves out axios' adapter for `fetch`, which tries itself out as soon as it is loaded, and its look at `FormData`: either has Node load a second
 * HTTP client, 3 MiB of each heap. This program uses the adapter for `node:http`.
 */
const withoutFetch: Plugin = {
  name: 'without fetch',
  setup: ({ onLoad }) => {
    onLoad({ filter: /[\\/]axios[\\/]lib[\\/]adapters[\\/]fetch\.js$/ }, () => ({
      contents: 'export const getFetch = () => false\nexport default false',
    }))
    onLoad({ filter: /[\\/]axios[\\/]lib[\\/]utils\.js$/ }, ({ path }) => {
      const look = "typeof G.FormData !== 'undefined' ? G.FormData : undefined"
      const parts = readFileSync(path, 'utf8').split(look)
      if (parts.length !== 2) throw new Error(`${path}: expected ${look} once`)
      return { contents: parts.join('undefined') }
    })
  },
}

/** Writes the outputs below a folder. */
export function writeBundle({ outputs }: Bundle, folder: string): void {
  for (const [name, text] of outputs) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
}

/**
 * A module of the checkout finds files beside itself by `import.meta`. In the bundle its text stands elsewhere, so its place is given
 * from the package's folder, where the files that it names have their places of the checkout.
 */
function placesInPackage(checkout: string, entries: readonly string[]): Plugin {
  return {
    name: 'places in the package',
    setup: ({ onLoad }) => {
      onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, ({ path }) => {
        const text = readFileSync(path, 'utf8')
        const name = relative(checkout, path)
        if (name.startsWith('..') || name.includes('node_modules') || !text.includes('import.meta.')) return undefined
        return { contents: placeModule(text, name, entries), loader: 'ts' }
      })
    },
  }
}

const pathOfModule = /(?<!from )(?<!import\()(['`])([^'`\n]*)\.ts\1/g

function placeModule(text: string, name: string, entries: readonly string[]): string {
  const isEntry = (path: string) => entries.some((entry) => entry.endsWith(lastPart(path)))
  return text
    .replaceAll(pathOfModule, (found, quote: string, path: string) => {
      if (!isEntry(`${path}.ts`)) throw new Error(`${name}: ${found} is started by path and not an entry of the bundle`)
      return `${quote}${path}.js${quote}`
    })
    .replaceAll('import.meta.dirname', `(platnetRoot + ${JSON.stringify(dirname(name))})`)
    .replaceAll('import.meta.url', `("file://" + platnetRoot + ${JSON.stringify(name)})`)
}

/** `.program.ts` of a path whose name is computed. */
function lastPart(path: string): string {
  return path.slice(Math.max(path.lastIndexOf('/'), path.lastIndexOf('}')) + 1)
}

/** Some libraries still call `require`; `platnetRoot` ends with a slash. */
function withPreamble(name: string, text: string): string {
  const up = '../'.repeat(name.split(sep).length - 1)
  const lines = [
    ...(/\brequire\b/.test(text)
      ? [`import{createRequire as platnetRequire}from"node:module";const require=platnetRequire(import.meta.url);`]
      : []),
    ...(text.includes('platnetRoot')
      ? [`const platnetRoot=new URL(${JSON.stringify(up)},import.meta.url).pathname;`]
      : []),
  ]
  return lines.join('') + text
}

/** Tells whether a text starts an output by its path; a program's name may be computed there. */
function isStarted(output: string, text: string): boolean {
  return text.includes(lastPart(output)) || (output.endsWith('.program.js') && text.includes('}.program.js'))
}

function loadsOf(metafile: Metafile, outputs: ReadonlyMap<string, string>): ReadonlyMap<string, readonly string[]> {
  const names = [...outputs.keys()]
  return new Map(
    Object.entries(metafile.outputs).map(([path, { imports }]) => {
      const name = path.replace(/^out\//, '')
      const imported = imports
        .filter(({ external }) => external !== true)
        .map((each) => each.path.replace(/^out\//, ''))
      const text = outputs.get(name) ?? ''
      const started = names.filter((other) => isStarted(other, text) && !imported.includes(other))
      return [name, [...imported, ...started]]
    }),
  )
}
