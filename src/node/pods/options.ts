import { z } from 'zod'
import { declareOptions, filePath } from '../../config/index.ts'

const commands = ['run', 'agent'] as const

/** How pods get their addresses. */
export const podNetworks = ['auto', 'host-gw', 'vxlan', 'container-bridge'] as const

export const podsOptions = declareOptions({
  podNetwork: {
    schema: z.enum(podNetworks, { error: `expected one of: ${podNetworks.join(', ')}` }),
    flag: '--pod-network <kind>',
    default: 'auto',
    reload: 'restart',
    commands,
    description:
      "How pods get their network: CNI, and the other nodes' pods by routes (host-gw) or a VXLAN device (vxlan); or a container engine's bridge; auto is host-gw where namespaces work, else the bridge",
  },
  engineSocket: {
    schema: filePath.optional(),
    flag: '--engine-socket <path>',
    reload: 'restart',
    commands,
    description: 'Where the container engine (Docker or Podman) listens that container-bridge uses; found when not set',
    example: '/run/podman/podman.sock',
  },
  podsDir: {
    schema: filePath.optional(),
    flag: '--pods-dir <folder>',
    reload: 'restart',
    commands,
    description:
      "Where this node's pods are written down, with their logs; the folder pods of the data directory when not set",
    example: '/var/lib/platnet/pods',
  },
})
