import { readFile } from 'node:fs/promises'
import type { createApiServer } from '../../api/index.ts'
import { ConfigError } from '../../config/index.ts'
import { describeError } from '../../model/errors.ts'
import type { AppContext } from '../context.ts'
import { ensureKubeletClient } from './cluster-files.ts'

type KubeletAccess = Parameters<typeof createApiServer>[0]['kubelets']
type ApiValues = AppContext['options']['values']['api']

/**
 * Says how the server reaches kubelets: by the files of the options, which are read for each connection, so that renewed
 * ones hold at once, or by a certificate of its own CA. Throws ConfigError for a file that cannot be read now.
 */
export async function composeKubelets(dataDir: string, api: ApiValues): Promise<KubeletAccess> {
  const { kubeletClientCertificate: certificate, kubeletClientKey: key, kubeletCertificateAuthority: authority } = api
  const own = certificate === undefined ? await ensureKubeletClient(dataDir) : {}
  const tls = async () => {
    const [caPem, certPem, keyPem] = await Promise.all([authority, certificate, key].map(readPem))
    return { ...own, caPem, ...(certificate === undefined ? {} : { certPem, keyPem }) }
  }
  await tls().catch((cause: unknown) => {
    throw new ConfigError('config-invalid', [`a file of --kubelet-… cannot be read: ${describeError(cause)}`])
  })
  return { tls, addressTypes: api.kubeletPreferredAddressTypes }
}

async function readPem(file: string | undefined): Promise<string | undefined> {
  return file === undefined ? undefined : readFile(file, 'utf8')
}
