/** Verbs that begin an instruction or a report about work, as stems. English only: other languages have no match. */
import { stemOf } from './stem.js'

const ACTION_VERBS = `
add adjust analyze answer apply arrange ask attend audit book build buy call change check choose clean close compare complete configure confirm
continue convert copy correct create debug decide define delete deploy describe design determine develop document download draft drop edit
enable ensure evaluate examine explain explore extend extract figure file fill find finish fix follow format generate get give go handle help hold
identify implement import improve include inspect install integrate investigate keep launch learn list look make merge migrate modify monitor move
open optimize order organize paint pass pick plan prepare print profile propose prove provide publish put read rebuild record recommend reduce
refactor register release remove rename render reorganize replace report reproduce research reserve resolve restore restrict return review
revert rewrite rotate run save schedule search see select send set settle setup show simplify solve sort split start stop suggest summarize
support switch take teach tell test tidy train translate try turn understand undo update upgrade upload use validate verify visit watch work write`

const stems: ReadonlySet<string> = new Set(ACTION_VERBS.trim().split(/\s+/u).map(stemOf))

/** Whether a word is a form of one of these verbs. */
export const isActionVerb = (word: string): boolean => stems.has(stemOf(word.toLowerCase()))
