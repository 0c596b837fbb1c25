/* The protocol of one record as a model for spin: the rules of a store (store/doc.go) under deliveries as the engine
 * makes them (machine.go). The simulation tries many orders of events of a large world, this all of a small one.
 *
 * An owner is one delivery of the key with its token. A call, once sent, is applied at any later moment and any number
 * of times, even when its owner is gone, or never; its answer may be lost. Leases, the memory of records and keeps end
 * at any moment, and so do owners.
 *
 * There is no time but its order. An owner counts its lease from when it sent the call, and so to an end no later than
 * the store's: both ends are one step here, and expired says that the owner has taken it.
 *
 * model_test.go checks that the invariants hold, and that each MUTANT breaks the one it names. */

#define OWNERS 3
#define MOST   2                                /* MaxAttempts */
#define NOBODY 255

mtype = { absent, consuming, released, consumed, parked };            /* what a record says */
mtype = { idle, claiming, verifying, running, ending, ended };        /* what an owner does */
mtype = { silence, claimed, busy, done, poison, settled };            /* what it was answered */
mtype = { nothing, completes, releases, gives_back, parks };          /* how it ends its claim */

/* The invariants, by their names in DESIGN.md: variables, so that spin prints the name of a broken one. */
hidden byte no_loss = 1, one_owner = 1, running_is_held = 1, unknown_is_no = 1;
hidden byte late_is_harmless = 1, done_stays_done = 1, released_stays_released = 1, attempts_count = 1;
#define holds(invariant, condition) assert(invariant && (condition))

/* The record. A token is the number of its owner. */
mtype state = absent;
byte token = NOBODY, attempt;
bool lapsed;

typedef Owner {
  mtype phase = idle;
  mtype answer = silence;                       /* to the call that it waits for */
  mtype end = nothing;                          /* sent, so that the call may arrive from now on */
  bool renews;                                  /* the same */
  bool expired;                                 /* its lease is over */
  bool again;                                   /* its claim is a take-over */
  bool bare;                                    /* it runs without a claim: OutageRun */
}
Owner owner[OWNERS];
#define me         owner[i]
#define occupied(o) (owner[o].phase == verifying || owner[o].phase == running)
#define live(o)    (occupied(o) && !owner[o].expired && !owner[o].bare)

/* What really happens. No part of the protocol knows it. */
bool effect;                                    /* a callback has succeeded */
bool kept;                                      /* a complete was applied, and keep has not ended */
byte grants, runs;                              /* attempts and callbacks within the record's memory */
byte given = NOBODY;                            /* whose release the record remembers */

hidden byte o, holder;                          /* within a step only */

/* ---- The store. Every rule is one step; i is the owner that calls. ---- */

/* The answer reaches an owner that waits for it, or gets lost. */
inline reply(to, text) {
  if
  :: me.phase == to && me.answer == silence ->
    me.answer = text; me.expired = false; me.again = (text == claimed && attempt > 1)
  :: true
  fi
}

inline become(s, t) { state = s; token = t; lapsed = false; given = NOBODY }

inline grant(n) {
  holds(done_stays_done, !kept);
  holds(released_stays_released, given != i);
#ifdef MUTANT_TAKE_OVER_WITHOUT_TOKEN           /* breaks one_owner */
  if :: n == 1 -> become(consuming, i) :: else -> become(consuming, token) fi;
#else
  become(consuming, i);
#endif
#ifdef MUTANT_MARK_BEFORE_RUN                   /* breaks no_loss */
  state = consumed;
#endif
  attempt = n; grants++;
  reply(claiming, claimed)
}

inline take_over() {
  if
  :: attempt >= MOST -> holds(attempts_count, grants >= MOST); become(parked, NOBODY); reply(claiming, poison)
  :: else -> grant(attempt + 1)
  fi
}

inline claim() {
  if
  :: state == absent -> grant(1)
  :: state == consuming && token == i -> lapsed = false; reply(claiming, claimed)
#ifdef MUTANT_LIVE_LEASE_IS_TAKEN_OVER          /* breaks one_owner */
  :: state == consuming && token != i && !lapsed -> take_over()
#else
  :: state == consuming && token != i && !lapsed -> reply(claiming, busy)
#endif
  :: state == consuming && token != i && lapsed -> take_over()
#ifdef MUTANT_RELEASED_COPY_IS_GRANTED          /* breaks released_stays_released */
  :: state == released -> take_over()
#else
  :: state == released && token == i -> skip             /* refused; nobody waits for it any more */
  :: state == released && token != i -> take_over()
#endif
#ifdef MUTANT_DONE_IS_CLAIMED                   /* breaks done_stays_done */
  :: state == consumed -> grant(1)
#else
  :: state == consumed -> reply(claiming, done)
#endif
  :: state == parked -> reply(claiming, poison)
  fi
}

inline renew() {
  if
#ifdef MUTANT_RENEWAL_BY_ANYBODY                /* breaks late_is_harmless */
  :: state == consuming -> become(consuming, i)
#else
  :: state == consuming && token == i -> lapsed = false
#endif
  :: else
  fi
}

inline complete() {
  kept = true;
#ifdef MUTANT_COMPLETE_IS_FENCED                /* breaks done_stays_done */
  if :: state == consuming && token == i -> become(consumed, NOBODY); attempt = 0 :: else fi;
#else
  become(consumed, NOBODY); attempt = 0;
#endif
  reply(ending, settled)
}

/* Not to be the owner is an answer as good as any: there is nothing left to release. */
inline release() {
  if
#ifdef MUTANT_RELEASE_IS_UNFENCED               /* breaks late_is_harmless */
  :: state == consuming ->
#else
  :: state == consuming && token == i ->
#endif
    become(released, i); given = i;
    if :: me.end == gives_back -> attempt--; grants-- :: else fi
#ifdef MUTANT_RELEASE_SUBTRACTS_AGAIN           /* breaks attempts_count */
  :: state == released && token == i && me.end == gives_back && attempt > 0 -> attempt--
#endif
  :: else
  fi;
  reply(ending, settled)
}

inline park() {
  if :: state == consuming && token == i -> become(parked, NOBODY) :: else fi;
  reply(ending, settled)
}

/* ---- The network: what was sent may arrive. ---- */

#define remember_holder() holder = (state == consuming -> token : NOBODY)

inline holder_is_undisturbed() {
  if
  :: holder != NOBODY && holder != i && live(holder) ->
    holds(late_is_harmless, state == consuming && token == holder)
  :: else
  fi
}

proctype wire(byte i) {
end:
  do
  :: atomic { me.phase != idle -> claim() }
  :: atomic { me.renews -> remember_holder(); renew(); holder_is_undisturbed() }
  :: atomic { me.end == completes -> holds(running_is_held, me.phase != running); complete() }
  :: atomic { me.end == releases || me.end == gives_back -> holds(running_is_held, me.phase != running);
      remember_holder(); release(); holder_is_undisturbed() }
  :: atomic { me.end == parks -> remember_holder(); park(); holder_is_undisturbed() }
  od
}

/* ---- Time. ---- */

inline expire(t) { if :: live(t) || owner[t].answer == claimed -> owner[t].expired = true :: else fi }

proctype clock() {
end:
  do
  :: atomic { state == consuming && !lapsed -> lapsed = true; expire(token) }
  :: atomic { state != absent && (state != consuming || lapsed) ->    /* memory or keep, longer than any lease */
      for (o : 0 .. OWNERS - 1) { expire(o) }
      become(absent, NOBODY); attempt = 0; kept = false; grants = 0; runs = 0 }
  od
}

/* ---- The owner. ---- */

inline start() {
  holds(unknown_is_no, me.answer == claimed);
  for (o : 0 .. OWNERS - 1) { holds(one_owner, o == i || !live(o)) }
  runs++;
  holds(attempts_count, runs <= MOST);
  me.phase = running; me.answer = silence; me.again = false
}

inline leave(p) { me.phase = p; me.answer = silence; me.expired = false; me.again = false; me.bare = false }

inline finish(e) { me.end = e; leave(ending) }

inline acknowledge() { holds(no_loss, effect); leave(ended) }

proctype deliver(byte i) {
end:
  do
  :: atomic { me.phase == idle -> me.phase = claiming }

  :: atomic { me.phase == claiming && me.answer == claimed && !me.expired -> start() }
  :: atomic { me.phase == claiming && me.answer == claimed && !me.expired && me.again -> me.phase = verifying }
#ifdef MUTANT_LEASE_COUNTS_FROM_THE_ANSWER      /* breaks one_owner */
  :: atomic { me.phase == claiming && me.answer == claimed && me.expired -> me.expired = false; start() }
#else
  :: atomic { me.phase == claiming && me.answer == claimed && me.expired -> me.answer = silence }
#endif
#ifdef MUTANT_SILENCE_IS_A_GRANT                /* breaks unknown_is_no */
  :: atomic { me.phase == claiming && me.answer == silence -> start() }
#endif
  :: atomic { me.phase == claiming && me.answer == silence -> me.bare = true; me.phase = running }
  :: atomic { me.phase == claiming && (me.answer == silence || me.answer == claimed) -> finish(gives_back) }
  :: atomic { me.phase == claiming && me.answer == done -> acknowledge() }
  :: atomic { me.phase == claiming && (me.answer == busy || me.answer == poison) -> leave(ended) }

  :: atomic { me.phase == verifying && effect -> finish(completes) }
  :: atomic { me.phase == verifying && !effect && !me.expired -> start() }
  :: atomic { me.phase == verifying -> finish(gives_back) }

  :: atomic { occupied(i) && !me.bare && !me.renews -> me.renews = true }
  :: atomic { me.phase == running -> effect = true; finish(completes) }
  :: atomic { me.phase == running -> finish(releases) }
  :: atomic { me.phase == running && !me.bare -> finish(parks) }
#ifdef MUTANT_RELEASE_BEFORE_RETURN             /* breaks running_is_held */
  :: atomic { me.phase == running -> me.end = releases }
#endif

  :: atomic { me.phase == ending && me.answer == settled && me.end == completes -> acknowledge() }
  :: atomic { me.phase == ending && me.answer == settled && me.end != completes -> leave(ended) }

  :: atomic { me.phase != idle && me.phase != ended -> leave(ended) }    /* it crashes, or gives up */
  od
}

init {
  byte i;
  atomic {
    run clock();
    for (i : 0 .. OWNERS - 1) { run wire(i); run deliver(i) }
  }
}
