/** What a proxy stands before, and how: the flags that `proxy` and `serve` share. */
import { InputError } from './errors.js'
import type { Given } from './given.js'

/** What the flags say. */
export interface Proxied {
  readonly upstream: URL
  readonly mode: 'observe' | 'compact'
  readonly fail: 'open' | 'closed'
  readonly offerMemory: boolean
}

/** What the flags say; undefined where no upstream is named. */
export function proxiedOf(given: Given): Proxied | undefined {
  const upstream = given.text('upstream')
  const [mode, fail, offerMemory] = [given.text('mode'), given.text('fail'), given.is('offer-memory')]
  if (upstream === undefined) {
    const idle = mode !== undefined ? 'mode' : fail !== undefined ? 'fail' : offerMemory ? 'offer-memory' : undefined
    if (idle !== undefined) throw new InputError('Usage', `--${idle} goes with --upstream`)
    return undefined
  }
  const address = URL.canParse(upstream) ? new URL(upstream) : undefined
  if (address === undefined || !/^https?:$/u.test(address.protocol))
    throw new InputError('Usage', `--upstream must be an http or https address, and is ${upstream}`)
  if (offerMemory && mode !== 'compact')
    throw new InputError('Usage', '--offer-memory goes with --mode compact: observing changes nothing')
  return {
    upstream: address,
    mode: mode === 'compact' ? 'compact' : 'observe',
    fail: fail === 'closed' ? 'closed' : 'open',
    offerMemory,
  }
}
