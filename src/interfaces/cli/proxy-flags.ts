/** The proxy flags that `proxy` and `serve` share. */
import { LedgerError } from '../../lib/ledger-error.js'
import type { CommandArgs } from './command-args.js'

export interface ProxyFlags {
  readonly upstream: URL
  readonly mode: 'observe' | 'compact'
  readonly fail: 'open' | 'closed'
  readonly offerMemory: boolean
  readonly recall: boolean
}

/** Reads the proxy flags; undefined without `--upstream`. */
export function proxyFlagsOf(args: CommandArgs): ProxyFlags | undefined {
  const upstream = args.text('upstream')
  const [mode, fail] = [args.text('mode'), args.text('fail')]
  const [offerMemory, recall] = [args.is('offer-memory'), args.is('recall')]
  if (upstream === undefined) {
    const toggled = offerMemory ? 'offer-memory' : recall ? 'recall' : undefined
    const flag = mode !== undefined ? 'mode' : fail !== undefined ? 'fail' : toggled
    if (flag !== undefined) throw new LedgerError('Usage', `--${flag} requires --upstream`)
    return undefined
  }
  const address = URL.canParse(upstream) ? new URL(upstream) : undefined
  if (address === undefined || !/^https?:$/u.test(address.protocol))
    throw new LedgerError('Usage', `--upstream must be an http or https address; got ${upstream}`)
  if (offerMemory && mode !== 'compact')
    throw new LedgerError('Usage', '--offer-memory requires --mode compact: observe does not change requests')
  if (recall && mode === 'compact')
    throw new LedgerError('Usage', '--recall requires --mode observe: compact sends the ledger’s own context')
  return {
    upstream: address,
    mode: mode === 'compact' ? 'compact' : 'observe',
    fail: fail === 'closed' ? 'closed' : 'open',
    offerMemory,
    recall,
  }
}
