import { existsSync } from 'node:fs'
import { resolve } from 'node:path'

export const kubeProxyProgram = resolve('.cache/peer/kube-proxy')

/** The shape of `TestOptions.skip`. */
export function lackOfKubeProxy(): string | false {
  return existsSync(kubeProxyProgram) ? false : 'kube-proxy is not built: sh bench/proxy/build-peer.sh'
}
