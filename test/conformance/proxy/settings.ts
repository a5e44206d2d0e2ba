/** The same wish in the words of kube-proxy's configuration and of our flags. */
export interface Settings {
  readonly config: object
  readonly flags: readonly string[]
}

const known: Readonly<Record<string, Settings>> = {
  defaults: { config: {}, flags: [] },
  interfaces: {
    config: {
      detectLocalMode: 'InterfaceNamePrefix',
      detectLocal: { interfaceNamePrefix: 'cni' },
      nodePortAddresses: ['192.0.2.0/24', '2001:db8:2::/64'],
    },
    flags: [
      '--detect-local-mode=InterfaceNamePrefix',
      '--pod-interface-name-prefix=cni',
      '--node-port-addresses=192.0.2.0/24,2001:db8:2::/64',
    ],
  },
  'masquerade-all': {
    config: {
      iptables: { localhostNodePorts: false, masqueradeAll: true, masqueradeBit: 3 },
      nodePortAddresses: ['primary'],
    },
    flags: ['--masquerade-all', '--masquerade-bit=3', '--node-port-addresses=primary'],
  },
}

export function settingsOf(name = 'defaults'): Settings {
  const settings = known[name]
  if (settings === undefined) throw new Error(`no settings ${name}: expected one of ${Object.keys(known).join(', ')}`)
  return settings
}
