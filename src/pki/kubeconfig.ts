import { stringify } from 'yaml'

interface KubeconfigContent {
  /** `https://host:port` */
  readonly server: string
  readonly caPem: string
  readonly clientCertPem: string
  readonly clientKeyPem: string
  readonly user: string
  readonly cluster: string
}

/** A kubeconfig (kubernetes.io/docs/concepts/configuration/organize-cluster-access-kubeconfig) with everything in it. It is a secret. */
export function renderKubeconfig(content: KubeconfigContent): string {
  const { user, cluster } = content
  const context = `${user}@${cluster}`
  return stringify(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        { name: cluster, cluster: { server: content.server, 'certificate-authority-data': toBase64(content.caPem) } },
      ],
      users: [
        {
          name: user,
          user: {
            'client-certificate-data': toBase64(content.clientCertPem),
            'client-key-data': toBase64(content.clientKeyPem),
          },
        },
      ],
      contexts: [{ name: context, context: { cluster, user } }],
      'current-context': context,
    },
    { lineWidth: 0 },
  )
}

function toBase64(text: string): string {
  return Buffer.from(text).toString('base64')
}
