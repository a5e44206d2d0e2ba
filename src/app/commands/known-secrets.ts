import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { dataPaths } from '../composition/cluster-files.ts'
import type { Options } from '../context.ts'

/** Shorter texts are words that stand everywhere. */
const minLength = 8

/** Reads the secrets that this machine keeps in files: tokens, keys, and what kubeconfigs contain. Files that cannot be read have none. */
export async function readKnownSecrets({ app, api, node }: Options['values']): Promise<readonly string[]> {
  const { agentToken, pki, adminKubeconfig, agentKubeconfig, controllersKubeconfig, schedulerKubeconfig } = dataPaths(
    app.dataDir,
  )
  const kubeconfigs = [adminKubeconfig, agentKubeconfig, controllersKubeconfig, schedulerKubeconfig, node.kubeconfig]
  const texts = await Promise.all([agentToken, api.tokenAuthFile, api.etcdPasswordFile, ...kubeconfigs].map(read))
  const [token = '', staticTokens = '', etcdPassword = '', ...configs] = texts
  const found = [
    token.trim(),
    etcdPassword.trim(),
    ...staticTokens.split('\n').map((line) => line.split(',', 1)[0]?.trim() ?? ''),
    ...configs.flatMap(secretsOfKubeconfig),
    ...(await readKeys(pki)),
  ]
  return [...new Set(found)].filter((secret) => secret.length >= minLength)
}

/** A key stands there as base64 of its PEM text; that text gives itself away in other files. */
function secretsOfKubeconfig(text: string): readonly string[] {
  const fields = /(?:client-key-data|token|password):\s*["']?([^\s"']+)/g
  const values = Array.from(text.matchAll(fields), ([, value = '']) => value)
  return [...values, ...values.flatMap((value) => linesOfKey(Buffer.from(value, 'base64').toString()))]
}

function linesOfKey(text: string): readonly string[] {
  return text.includes('PRIVATE KEY') ? text.split('\n').filter((line) => !line.startsWith('-----')) : []
}

/** Returns the lines of base64 in private keys: a line alone is a secret too. */
async function readKeys(folder: string): Promise<readonly string[]> {
  const names = (await readdir(folder).catch((): string[] => [])).filter((name) => name.endsWith('.key'))
  const texts = await Promise.all(names.map((name) => read(join(folder, name))))
  return texts.flatMap(linesOfKey)
}

async function read(path: string | undefined): Promise<string> {
  return path === undefined ? '' : readFile(path, 'utf8').catch(() => '')
}
