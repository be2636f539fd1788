/**
 * The form of an answer with named sections: of summaries that become one, and, up to version 3 of the formatter, of
 * messages. Recorded requests have it, so that nothing here may change.
 */
import { z } from 'zod'
import { sectionsSchema } from '../../domain/events/index.js'

const { $schema: _dialect, ...jsonSchema } = z.toJSONSchema(sectionsSchema)
/** The JSON schema of an answer. */
export const SECTIONS_SCHEMA = { name: 'sections', schema: jsonSchema }

/** The description of the form. It is a separate message, so it also applies to a custom template. */
export const SECTIONS_FORM = `Answer with one JSON object and nothing else. Every field is required; use [] if there is nothing to record. "completedWork" is an array of objects {"file", "action", "description"}, all strings, with "file" empty if no file was touched. Every other field is an array of strings.
- "requests": what was asked for, and by which speaker.
- "constraints": constraints and preferences, quoted in the speaker's own words.
- "decisions": decisions, each with its reason.
- "facts": what may be needed later: about people, what happened to them, what they have, like and plan; and names, numbers, dates, paths, commands and identifiers, exactly as written.
- "completedWork": work on files, and other finished actions and events.
- "errors": errors, each with how it was resolved.
- "openItems": everything that is still to do, to answer or to decide, including open items of the background that are still open.
- "closedItems": open items of the background that were completed or dropped.
- "currentState": the state at the end.
- "nextSteps": the steps after that.
- "superseded": earlier statements that no longer hold, each with its replacement.`
