/** The strategy, model and prompt of an edition, in a few words. */
import type { Edition } from '../../../library/ledger.js'
import { printable } from '../output.js'

export const madeBy = ({
  summarizer: { strategy, provider, model },
  prompt,
}: Pick<Edition, 'summarizer' | 'prompt'>): string =>
  [
    strategy,
    ...(provider === 'none' ? [] : [model]),
    ...(prompt === undefined ? [] : [`${prompt.name} ${prompt.sha256.slice(0, 8)}`]),
  ]
    .map(printable)
    .join(', ')
