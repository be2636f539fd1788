/** The ways in which English states a rule for the work of the other speaker. */
import { ENGLISH_SIGNALS } from './english-signals.js'
import { ENGLISH_PLACES_AND_STYLE } from './english-style.js'
import {
  OF_A_STORY,
  REPORTED,
  ONCE,
  COMFORT,
  NO_IMPERATIVE,
  GUESSED,
  GUESSING,
  VERBS_OF_ONLY,
  APPROVAL,
  APPROVED,
  DAYS,
  MONTHS,
  TIME,
  NUMBER,
  STORY_WORD,
  NO_REPORT,
} from './english-words.js'
import { ACTS, COMMAND_OF, REPORTS } from './programs.js'
import { LATIN, anywhere, order, type Language } from './way.js'

export const ENGLISH: Language = {
  signals: ENGLISH_SIGNALS,
  letters: /[a-z]/u,
  alphabet: LATIN,
  ways: [
    order(
      'prohibition: do not',
      String.raw`(?:do not|don['’]?t)\s+(?:ever\s+)?(?!(?:${COMFORT})(?![\p{L}\p{N}]))[“”«»()*_'’-]?\p{L}+`,
    ),
    order('prohibition: never, always', String.raw`(?:never|always)\s+(?!(?:${NO_IMPERATIVE})(?![\p{L}\p{N}]))\p{L}+`),
    anywhere(
      'prohibition: under no circumstances',
      'under no circumstances|on no account|in no case|at no (?:point|time) |(?:is|are) never to |never ever|not under any circumstances|(?:is|are|be) not to (?!be (?:confused|missed)|blame|worry)',
    ),
    order(
      'prohibition: hands off',
      String.raw`hands off|(?:keep|get) (?:your |all )?(?:hands|fingers|paws|mitts) off|(?:keep|stay) (?:well )?(?:out of|away from|clear of|off) (?!trouble|the (?:streets|sun))|steer clear of|leave (?!me |us |him |her |it at )(?:\S+ ){1,7}?(?:alone|untouched|as (?:it|they) (?:is|are)|as[- ]is|be|in peace|unchanged)`,
    ),
    anywhere(
      'prohibition: off limits',
      String.raw`(?:is|are|remains?|stays?|['’]s) (?:\p{L}+ly |still |to you )?(?:off[- ]?limits|out of bounds|no-go|a no-go(?: area| zone)?|taboo|banned|barred|disallowed|not to be (?!missed|confused|underestimated)\p{L}+|never to be \p{L}+|not (?:yours|for you) to \p{L}+|strictly for humans|not up for discussion|not negotiable|non-negotiable|untouchable)|no[- ]go (?:area|zone)|(?:consider|treat|regard) .{1,80}? (?:as )?(?:off[- ]limits|taboo|untouchable)`,
      { unless: /\b(?:was|were|it|he|she|that)\s*$/u },
    ),
    anywhere(
      'prohibition: has no place in',
      String.raw`(?:has|have) no (?:place|business) (?:in|on|inside|being)|(?:do(?:es)? not|do(?:es)?n['’]t) belong (?:in|on|under|inside|to)|(?:stays?|keep (?:\S+ ){1,6}?|kept) out of (?!trouble|this|it|the way|sight)`,
      { unless: OF_A_STORY },
    ),
    order(
      'prohibition: stop doing',
      String.raw`(?:stop|quit) (?!worrying|beating|overthinking|being|feeling|thinking|trying|loading|working|crying|smiling)\p{L}+ing \p{L}+`,
      { not: ONCE },
    ),
    order(
      'prohibition: no X in Y',
      String.raw`(?:absolutely |strictly |and )?no (?!(?:${NO_REPORT})\b)(?:[\p{L}'’/.-]+ ){1,5}?(?:in|on|to|into|from|without|unless|before|after|until|during|outside|ever|over|between|at|for|per|please|at all|allowed)\b(?!\?)`,
      {
        not: /\b(?:is|are|was|were|has|had|i|we|he|she|it|found|detected|available|can|could|will|have|made)(?:['’]\p{L}+)?\b/u,
      },
    ),
    order('prohibition: no command', `(?:please |absolutely |strictly )?no (?:more )?(?:${COMMAND_OF}|${ACTS})`, {
      not: REPORTS,
    }),
    anywhere(
      'approval: only after asking',
      String.raw`only (?:after|when|once|if) (?:asking|checking with|talking to|i(?:['’]ve| have)? (?:say|said|agree|approve|confirm|ok|okay|seen)|you(?:['’]ve| have)? (?:asked|checked with|talked to|cleared))`,
    ),
    anywhere(
      'permission: but not',
      String.raw`you (?:can|may|are (?:free|allowed|welcome) to) [^?]{3,120}? but (?:not|never|nothing) (?:to|on|in|into|from|with|the|any)`,
      { not: /(?<!\p{L})(?:feel|understand|see|imagine|tell|eat|love)(?!\p{L})/u },
    ),
    order(
      'obligation: all X as',
      String.raw`(?:open|create|make|file|submit|publish|push|send|tag|mark|upload|start|run|deploy|build|save|store) (?:all|every|each|any) (?:\S+ ){1,5}?(?:as|only|with|through|via) `,
      { not: ONCE },
    ),
    anywhere(
      'prohibition: it never leaves',
      String.raw`never (?:leaves?|goes?|enters?|lands?|touch(?:es)?|ends? up|gets?|appears?|ships?|cross(?:es)?|runs?|be (?:sent|shared|stored|written)) (?:\p{L}+ed |out |live |directly |straight )?(?:in|into|the|to|out|live|from|via|through|over|as|our|on|by|with|without)\b`,
      {
        unless: /\b(?:i|we|he|she|they|it|you|that|love|my|our|who|life|time)(?:['’]\p{L}+)?(?: \p{L}+)?\s*$/u,
        not: /\b(?:was|were|my|his|her|i|tired|old|fails?|returns?)\b/u,
      },
    ),
    order(
      'obligation: remember to',
      String.raw`(?:remember|do not forget|don['’]?t forget|mind) to [^?]{3,90}?\b(?:whenever|every|each|before|always|after|when|any ?time)`,
      { not: /\b(?:yourself|enjoy|fun|smile|have)\b/u },
    ),
    order(
      'obligation: use X everywhere',
      String.raw`(?:use|write|apply|follow|stick|name|format|spell|keep|prefer|prefix) [^?]{3,90}?\b(?:throughout|everywhere|across the board|consistently|in everything|for everything|for anything|for any|for all (?:new|future|our)|for every|in every|at all times|exclusively|no matter)`,
      { not: ONCE },
    ),
    anywhere(
      'approval: I see every X first',
      String.raw`(?:i (?:have to|must|need to|want to|will|['’]ll|would like to|get to)|i['’](?:d like to|ll)) (?:\p{L}+ )?(?:confirm|approve|see|review|check|sign off(?: on)?|ok|okay|be asked|be consulted|read) (?:(?!if\b)\S+ ){0,2}?(?:every|each|all|anything|everything)|(?:let me|allow me to) (?:review|see|check|approve|read|confirm) (?:anything|everything|all|every|each|any|it before|them before)`,
      { not: /\b(?:was|were|my)\b/u },
    ),
    order(
      'prohibition: nobody may',
      String.raw`(?:nobody|no one|no agent|no bot|no developer|no human|nothing) (?:\S+ ){0,4}?(?:may|is to|gets? (?:\p{L}+ed|pushed|sent|out|in)|goes (?:out|in|to|live)|leaves|ships|should (?!feel)|must|touches|edits|merges|pushes|deploys|(?:is|are) allowed)`,
      { not: REPORTED },
    ),
    order('exclusivity: only do', `only (?:ever )?(?:${VERBS_OF_ONLY})`, {
      not: /\bonly (?:do|make|work|start)s? (?:so|it)\b/u,
    }),
    order(
      'obligation: make sure',
      String.raw`make (?:very |absolutely |100% )?sure|ensure|be sure (?:to|that) (?!tell)|see to it|see that|take care (?:that|to)|mind that|double-check (?:\S+ ){1,10}?before|stick (?:to|with)|do without|limit (?:it|the|each|your)|avoid|refrain from`,
      { not: ONCE },
    ),
    order(
      'obligation: every time',
      String.raw`(?=[^?]*(?:every|each|whenever|any ?time|all times|no matter))(?!(?:${STORY_WORD}|and|but|so|because|the|a)\b)\p{L}+ (?:(?!(?:i|we|he|she|they|is|was|were)\b)\S+ ){1,14}?(?:every time|each time|whenever you|any ?time you|at all times|after every|before every|after each|before each|with every|for every new|on every|no matter (?:what|how)|every (?:morning|evening|monday|friday|week|day) at)`,
      {
        unless: /\b(?:love|thank|happy)\b/u,
        not: /\b(?:i|we|he|she|my|our|thanks|love|feel|feels|enjoy|life|was|were|let me know|imagine|calculate)(?:['’]\p{L}+)?\b/u,
      },
    ),
    anywhere('obligation: please', 'please (?:use|keep|stick to|limit|write|format|answer|respond|reply)', {
      not: ONCE,
    }),
    anywhere(
      'obligation: must',
      String.raw`must(?:n['’]t)?(?!['’]ve)(?!\s+have (?:been|\p{L}+ed|done|gone|felt|taken|had|made|known|seen|got|come|meant|thought|found|cost|put|been)(?![\p{L}\p{N}]))(?!\s+(?:feel|of|say|admit|see|read|watch|try|visit)(?![\p{L}\p{N}]))(?!\s+be ${GUESSED}(?![\p{L}\p{N}]))(?!\s*(?:[.!,]|$))`,
      { unless: GUESSING },
    ),
    anywhere(
      'obligation: should never, always, only',
      String.raw`(?:should|shall|you may|may) [_*]*(?:never|always|only|not (?:ever )?(?:be (?:used|changed|sent|shared|deleted|edited|stored|logged|merged|touched|moved|published|altered|modified|copied|run|deployed|disclosed|released|opened|combined|contacted)|leave|edit|touch|merge|push|deploy|write|delete|send|contact|access|change|share|use|modify|publish|run|approve|store|call|spend|install|commit|contain|include))|should not|(?:is|are) (?:only|always|never) to be|(?:you|we|it|this|that) shouldn['’]t(?! have| be (?:too|so|a|that))`,
      { unless: /(?<![\p{L}\p{N}])(?:why|i|he|she|they|it|you or i)\s+$/u },
    ),
    anywhere(
      'obligation: is required',
      '(?:is|are|be) (?:strictly |always |absolutely )?(?:required(?! (?:to know|for the))|mandatory|compulsory|obligatory|forbidden|prohibited|not allowed|not permitted|not optional)|can only (?:be|use|have)',
      { not: /\b(?:i|he|she|they|was|were|free (?:plan|tier))\b/u },
    ),
    anywhere(
      'obligation: has to',
      String.raw`(?<!(?:it|that|this|there) )(?:has|have|needs?) to (?:always |all |only )?(?:keep|stay|remain|preserve|support|work (?:with|on|in|without)|go (?:through|via|to|out|into)|include|contain|carry|come with|match|pass|mention|be (?:kept|done|finished|ready|delivered|signed|approved|reviewed|compatible|the same|backwards?|logged|recorded|checked|tested|encrypted|confirmed|in [a-z]+ order))`,
      {
        unless:
          /(?<![\p{L}\p{N}])(?:i|we|he|she|they|you|who|that|it|people|kids|children|why|(?:my|his|her) \p{L}+(?:['’]s \p{L}+)?)(?:['’]\p{L}+)?(?:\s+(?:still|just|really|also|always|will|would))?\s*$/u,
      },
    ),
    order(
      'obligation: every X has',
      String.raw`(?:every|each|all|any) (?!(?:day|time|night|morning|year|week|one|body|thing|right|good|set|done|in|of|other|kinds?)\b)(?:(?!${STORY_WORD}\b)[^\s,.;:!?]+ ){1,9}?(?:has to|have to|needs? (?:to|an?)|is to|are to|should|shall|requires?|gets? (?:an?|its|their|\p{L}+ed)|comes? with an?|carr(?:y|ies) an?|ends? (?:in|with)|starts? with|begins? with|goes? (?:to|through|into|via|out|past|by)|explains?|names?|lists?|states?|must)`,
      { not: /\b(?:i|he|she|my|life|people|feel|family|hard work|was|were|journey|challenges?|child|person)\b/u },
    ),
    order(
      'obligation: whoever',
      String.raw`(?:whoever|anyone who|anybody who) (?:[^,?]{3,80}) (?:fixes|updates?|pays|cleans|writes?|also|must|has to|needs to|adds?|owns?|reverts?|documents?|asks?|reviews?|informs?)`,
      { not: REPORTED },
    ),

    anywhere(
      'cap: is limited to',
      String.raw`(?:is|are|be|stays?|remains?|gets?) (?:\p{L}+ly )?(?:capped|limited|restricted|confined|rate[- ]limited|throttled|budgeted) (?:at|to) (?!one's)`,
      { not: REPORTED },
    ),
    order(
      'cap: limit it to',
      String.raw`(?:cap|limit|restrict|confine|keep|hold|budget|spend|use|send|open|make|allow|start|run|ask|take|book|write|create|retry|give yourself)(?: \S+){0,8}? (?:at|to|under|below|within|beneath|inside|up to|no more than|at most|a maximum of|max|less than|fewer than) (?:around |about )?(?:${NUMBER})(?![\p{L}])`,
      { not: ONCE },
    ),
    anywhere(
      'cap: the cap is',
      String.raw`(?:cap|ceiling|limit|maximum|max|budget|quota|allowance|threshold|minimum|floor|headroom)(?: (?:for|on|of|per|in|to)(?: [^\s,.;]+){1,5}?)? (?:is|are|sits at|stands at|stays at|remains|ends at) (?:now |set (?:at|to) |at |around |exactly |still )?(?:${NUMBER})(?![\p{L}])|(?:cap|ceiling|limit|maximum|max|budget|quota)[:=] ?(?:${NUMBER})`,
      {
        not: /\b(?:i|my|was|were|function|integral|sequence|series|x|as|error|returns?|sum|approaches)(?:['’]\p{L}+)?\b/u,
      },
    ),
    anywhere(
      'cap: you have an allowance',
      String.raw`(?:you have|you get|there(?:['’]s| is)) (?:[^\s,;]+ ){0,5}?(?:allowance|quota|limit|cap|budget|ceiling|maximum) of|we (?:cap|limit|restrict|ration) |(?:one|two|three|four|five|\d+) (?:sentences?|lines?|paragraphs?|bullets?|bullet points|words) (?:are|is|will|should|suffice)(?: \p{L}+)? ?(?:plenty|enough|fine|sufficient|do)?`,
      { not: /\b(?:was|were|i)\b/u },
    ),
    anywhere(
      'cap: N is the most',
      String.raw`(?:${NUMBER})(?: [\p{L}%/]+){0,4}? (?:max|maximum|tops|at (?:the )?most|or (?:less|fewer|under)|is the (?:cap|ceiling|limit|maximum|max|most))(?![\p{L}])|(?:max|maximum)\.?:? (?:of )?(?:${NUMBER})(?: \S+){1,3}`,
      { not: REPORTED },
    ),
    anywhere(
      'cap: no more than',
      String.raw`(?:at most|at least|no (?:more|fewer|less|later|longer|earlier|sooner|larger|bigger|higher) than|not more than|never more than|a maximum of) (?:\$?\d\S*|€\d\S*|one|two|three|four|five|six|ten|twenty|thirty|a (?:single|hundred|day|week))`,
      {
        unless:
          /(?<![\p{L}\p{N}])(?:i|we|he|she|they|my|our|his|her)(?:['’]\p{L}+)?(?![\p{L}\p{N}])|\bcan (?:only )?(?:be|have|hold|take)\b|\b(?:probability|getting|rolling|tails|heads|is|was|were|takes?|drawing|contains?|find|select\p{L}*|choos\p{L}*)\b/u,
      },
    ),
    anywhere(
      'cap: may not exceed',
      String.raw`(?:must|may|should|shall|can|do|does|will|to) ?(?:not|never|n['’]t) (?:ever )?(?:exceed|go (?:over|above|beyond|past)|run (?:over|longer|above))|(?:exceed|go over) (?:is|are) not|(?:above|beyond|over) that (?:goes|needs|ask|is)`,
      { not: REPORTED },
    ),
    order(
      'cap: stay under',
      String.raw`(?:always )?(?:stay|keep|remain)(?: \S+){0,8}? (?:under|below|within|beneath|inside) (?:the |a |our |your |its )?(?:${NUMBER}|budget|limit|quota|cap|rate)`,
    ),

    anywhere(
      'approval: needs approval',
      String.raw`(?:requires?|needs?|calls? for|must have|subject to|pending|not without|only with|nothing without|waits? for|wait for|get|obtain|awaits?|requiring)(?: [^\s,.;]+){0,6}? (?:${APPROVAL})(?! of (?:what|how))`,
      {
        not: /\b(?:i(?:['’](?:m|ve|ll))?|he|she|was|were|had|got|did|asked|last (?:week|month)|yesterday) (?!(?:approve|sign|have|confirm|gave|say|ok|give|personally|need (?:to|your)?))/u,
      },
    ),
    anywhere(
      'approval: only after approval',
      String.raw`only (?:\S+ ){0,5}?(?:after|once|when|if|with|upon)(?: \S+){0,8}? (?:${APPROVED})|(?:until|unless|before)(?: \S+){1,8}? (?:ha(?:s|ve) )?(?:${APPROVED})`,
      { not: /\b(?:was|were|had|did|i[’']ll|i will|i think|i was|waited|didn['’]t|we[’']re|i[’']m)\b/u },
    ),
    anywhere(
      'approval: not without asking',
      String.raw`without (?:first )?(?:asking|checking with|consulting|clearing it|running it by|informing|my|explicit|prior|written|\p{L}+['’]s) ?(?:me|us|\p{L}+)?`,
      {
        unless: /\b(?:i|he|she|they|was|were|would|left|went|can|could|couldn['’]t)(?:['’]\p{L}+)?\b/u,
        not: /\b(?:was|were|couldn['’]t|have done|love|would(?:n['’]t)? (?:be|have))\b/u,
      },
    ),
    order(
      'approval: ask before',
      String.raw`(?:ask|check with|check in with|consult|ping|tell|warn|notify|inform|clear|run|confirm|verify|get|obtain|seek|talk to|come to|loop in|show|wait for|alert|propose|let|message|email|call)(?: \S+){0,12}? (?:before|prior to|first|beforehand|up front|in advance)(?! (?:of all|step|time|one|day|thing|and then))`,
      { not: ONCE },
    ),
    order(
      'approval: before you do, ask',
      String.raw`before (?:you )?(?!we|i |they|he|she)[^?]{3,90}?, (?:always |please |first )*(?:ask|check with|consult|ping|tell|notify|get|clear|confirm|show|run|make|take|create|strip|remove|mask|redact|scrub|back up|verify|test|wait|stop|read)`,
      { not: ONCE },
    ),

    anywhere(
      'window: only between',
      String.raw`(?:only|solely|exclusively)(?: \S+){0,6}? (?:between|from|after|before|on|during|at|outside|within|in) (?:of )?${TIME}|(?:on |in the |during )?(?:${DAYS}|business hours|office hours|working hours|mornings)(?: and (?:${DAYS}))? only`,
      { not: REPORTED },
    ),
    anywhere(
      'window: not before',
      String.raw`(?:not|nothing|no [\p{L}'’ -]{2,40}|never|don['’]t [^,;.]{2,60}|quiet|only)(?: \S+){0,4}? (?:before|after|until|between|outside|during|on|over|at|earlier than|later than) ${TIME}|(?:nobody|no one) (?:\S+ ){1,8}?(?:before|after|between|outside|during|on|over|earlier than|later than) ${TIME}|(?:no|not) (?:earlier|later|sooner|before|after|until)(?: than)? ${TIME}|(?:between|from) ${TIME}[^,;]{0,30} only|(?:hold|postpone|delay|park|queue|wait with)(?: \S+){1,7} until (?:after )?${TIME}|outside (?:of )?(?:business|office|working|opening) hours`,
      {
        not: /\b(?:i|he|she|they|was|were|had|did|didn['’]t|couldn['’]t|my|our|worries|problem|time|failed|worked|happened|we['’]\p{L}+)(?:['’]\p{L}+)?\b/u,
      },
    ),
    anywhere(
      'window: none on a day',
      String.raw`(?:${DAYS})(?: \S+){0,6}? (?:is|are|stays?|we|nothing|no|don['’]t|do not|never)(?: \S+){0,5}? (?:no|not|off|free|frozen|closed|nothing|don['’]t|never|without|deploy-free|deploy|ship|release|send|push|meetings?)|(?:we|you) (?:don['’]t|do not|never)(?: \S+){1,8}? (?:on|at|over) (?:the )?(?:${DAYS})|(?:keep|leave) (?:${DAYS}|${MONTHS}) (?:free|clear)`,
      { not: /\b(?:i|he|she|was|were|had|did|my|our|fun|worries)(?:['’]\p{L}+)?\b/u },
    ),

    ...ENGLISH_PLACES_AND_STYLE,
  ],
}
