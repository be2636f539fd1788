/** Sections of a summary as text. */
import type { Sections } from '../../domain/events/index.js'

/** The headings, in the order in which the text has them. */
const SECTION_TITLES = {
  requests: 'Requests',
  constraints: 'Constraints and preferences',
  decisions: 'Decisions',
  facts: 'Facts',
  completedWork: 'Completed work',
  errors: 'Errors',
  superseded: 'Superseded',
  closedItems: 'Closed items',
  openItems: 'Open items',
  currentState: 'Current state',
  nextSteps: 'Next steps',
} as const satisfies Readonly<Record<keyof Sections, string>>

type Work = Sections['completedWork'][number]

const workEntry = ({ file, action, description }: Work): string =>
  [...(file === '' ? [] : [file]), ...(action === '' ? [] : [`(${action})`])].join(' ') +
  (description === '' ? '' : `${file === '' && action === '' ? '' : ': '}${description}`)

const entriesOf = (entries: Sections[keyof Sections]): string[] =>
  entries.map((entry) => (typeof entry === 'string' ? entry : workEntry(entry)).trim()).filter((entry) => entry !== '')

/** Sections as text: a heading and a list for each section that has an entry. Empty if none has. */
export function renderSections(sections: Sections): string {
  return Object.keys(SECTION_TITLES)
    .flatMap((name) => {
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant object
      const key = name as keyof Sections
      const entries = entriesOf(sections[key])
      return entries.length === 0 ? [] : [`${SECTION_TITLES[key]}:`, ...entries.map((entry) => `- ${entry}`)]
    })
    .join('\n')
}
