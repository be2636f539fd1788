/** The explanation of a line, or the reason for its absence. */
import type { Child } from 'hono/jsx'
import { faultOf } from '../../../library/problem.js'
import type { ExplainOptions } from '../../../library/ledger.js'
import { ExplanationView, SourcesHeading } from '../views/explanation.js'
import { visible } from '../views/text.js'
import type { PageServices } from './page-services.js'

export async function explainedLine(
  page: PageServices,
  c: string,
  { line, ...options }: ExplainOptions,
): Promise<Child> {
  try {
    const explanation = await page.options.ledger.explain(c, line === undefined ? options : { ...options, line })
    return <ExplanationView explanation={explanation} line={line} places={await page.places(c)} />
  } catch (error) {
    const { fault, message } = faultOf(error)
    if (fault === 'bug') throw error
    return (
      <>
        <SourcesHeading line={line} />
        <p class="note warn">{visible(message)}</p>
      </>
    )
  }
}
