// Loaded before a program by `--import`: when its process ends, writes the URLs of all modules of its main thread to the file that
// PLATNET_TEST_MODULES names, one a line.
import { writeFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { isMainThread } from 'node:worker_threads'

const file = process.env['PLATNET_TEST_MODULES']
if (file !== undefined && isMainThread) {
  const urls: string[] = []
  registerHooks({
    load: (url, context, next) => {
      urls.push(url)
      return next(url, context)
    },
  })
  process.on('exit', () => writeFileSync(file, urls.join('\n')))
}
