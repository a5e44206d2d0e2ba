export { ConfigError } from './config-error.ts'
export { parseConfigFile, readConfigFile } from './config-file.ts'
export {
  type CommandName,
  declareOptions,
  isTakenBy,
  type OptionGroup,
  type OptionValues,
} from './declare.ts'
export { configYaml, configzDocument, fileSchema, optionHelp, optionsTable } from './documents.ts'
export { flagName, type LoadedOptions, loadOptions, type OptionSources, type ResolvedOption } from './load-options.ts'
export {
  byteSize,
  dnsName,
  dualStackAddresses,
  dualStackCidrs,
  duration,
  durationOrNone,
  filePath,
  filePathList,
  flagValue,
  formatListenAddress,
  httpUrl,
  httpUrlList,
  ipAddress,
  type ListenAddress,
  linkName,
  listenAddresses,
  nodePortAddressList,
  plainText,
  portNumber,
  portRange,
  seconds,
  wholeNumber,
  wordList,
} from './schemas.ts'
export { suggestName } from './suggest.ts'
